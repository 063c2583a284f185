/**
 * `cosmig demo`: a migration from end to end in about a minute, in this process and without an account. What always
 * holds: the steps are the real commands, the account is metered, the application never waits for them, and nothing is
 * left behind unless it is asked for.
 */
import type { Command, Context, Result } from '../cli/command.ts';
import { ChildSignal } from '../lib/abort.ts';
import { CanceledError } from '../lib/errors.ts';
import { group } from '../lib/group.ts';
import { seededRandom } from '../lib/random.ts';
import { DemoAccount } from '../demo/account.ts';
import { Application } from '../demo/application.ts';
import { fill, makeSeed, SOURCE, TARGET, THROUGHPUT_RU, type Seed } from '../demo/shop.ts';
import { play, type Pace } from '../demo/story.ts';
import { demoText } from '../demo/picture.ts';
import { count } from '../report/format.ts';

const OPTIONS = {
  fast: { type: 'boolean', default: false, help: 'with few documents, within seconds: for CI' },
  keep: {
    type: 'boolean',
    default: false,
    help: 'keep the data of the emulator and the ledger, and say how to look around',
  },
} as const;

/** So that there is something to see, or so that it is over soon. */
const SLOW: Pace = { documents: 2500, aloneMs: 5000, copyRu: 3600, tailMs: 4000 };
const FAST: Pace = { documents: 500, aloneMs: 1000, copyRu: 3600, tailMs: 500 };
/** The same shop every time. */
const SEED = 7;

export const demo: Command<typeof OPTIONS> = {
  name: 'demo',
  summary: 'a whole migration in a minute, without an account',
  description:
    'Starts the emulator in this process, fills a container that has the wrong partition key, lets an application write ' +
    'to it all the time, and moves it: copy, tail, verify, cutover, with the code of the real commands. Shows what became of ' +
    'it and leaves nothing behind.',
  examples: [
    { line: 'cosmig demo', purpose: 'watch it, and see the picture at its end' },
    { line: 'cosmig demo --fast --json', purpose: 'the same within seconds, for a script' },
  ],
  options: OPTIONS,
  async run(context) {
    try {
      return await perform(context);
    } catch (error) {
      throw error instanceof CanceledError ? stopped(error, context.options.keep) : error;
    }
  },
};

async function perform(context: Context<typeof OPTIONS>): Promise<Result> {
  const { options, signal, out, clock } = context;
  const startedMs = clock.now();
  const pace = options.fast ? FAST : SLOW;
  const random = seededRandom(SEED);
  await using place = await DemoAccount.open({ isKept: options.keep });
  out.note(`a Cosmos account is ready at ${place.endpoint}`);
  if (options.keep) out.note(`its data and the ledger are kept in ${place.folder}`);
  const seed = makeSeed(pace.documents, random);
  await fill(place.account, seed, signal);
  // A container that has grown: the range of the largest tenant is split, and split again.
  for (let splits = 0; splits < 2; splits += 1) await place.split(SOURCE.container, signal);
  place.configure({ targetRu: pace.copyRu });
  for (const line of shopText(seed)) out.note(line);
  const findings = await group(signal, async (members) => {
    using work = new ChildSignal(members.signal);
    const application = new Application(place.account, seed.orders, random);
    members.start(async () => application.run(work.signal));
    try {
      return await play({ context, place, application, seed, pace, signal: members.signal });
    } finally {
      work.abort(new Error('the demo is over'));
    }
  });
  const kept = options.keep ? { kept: { folder: place.folder, endpoint: place.endpoint } } : {};
  const json = { command: 'demo', complete: true, ...findings, ...kept, durationMs: clock.now() - startedMs };
  const text = demoText(findings);
  return options.keep ? { json, text, aside: lookAround(place) } : { json, text };
}

function shopText({ documents, kinds }: Seed): readonly string[] {
  const { collisions, withoutKey, withTtl, longIntegers } = kinds;
  return [
    `${count(documents.length)} ${SOURCE.container} by ${SOURCE.keyPath}, in 3 ranges of ${count(THROUGHPUT_RU / 3)} RU/s; most are of one tenant`,
    `they shall be by ${TARGET.keyPath}: ${withoutKey} have none, ${collisions} pairs will collide,`,
    `${withTtl} will expire, and ${longIntegers} have integers beyond 2^53`,
  ];
}

function lookAround({ folder, endpoint }: DemoAccount): string {
  const port = new URL(endpoint).port;
  return [
    `Everything is in ${folder}.`,
    'To look around, start the account again:',
    `  cosmig emulator --port ${port} --data ${folder}/account.db`,
    'and in another terminal:',
    `  cosmig status --config ${folder}/cosmig.config.yaml`,
    `  cosmig dead-letters list --all --config ${folder}/cosmig.config.yaml`,
    `Remove it with: rm -r ${folder}`,
  ].join('\n');
}

/** The same stop, told in the demo's terms. */
function stopped({ signal }: CanceledError, isKept: boolean): CanceledError {
  return new CanceledError(signal, {
    why: isKept
      ? 'the demo was asked to end; what it has made was kept, as it was'
      : 'the demo was asked to end; what it had made is gone',
    hint: 'run cosmig demo again to begin anew',
  });
}
