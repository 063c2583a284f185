/**
 * The demo: a migration from end to end in about a minute, in this process and without an account. Invariants: the
 * steps run the code of the real commands, the account limits RU/s as the service does, the application never waits
 * for the migration, and nothing but two pages remains on disk unless the operator asks for more: that of the plan, and the
 * report of the migration.
 */
import type { Context, Result } from '../cli/command.ts';
import { ChildSignal, whenAborted } from '../lib/abort.ts';
import { formatCount } from '../lib/counting.ts';
import { CanceledError } from '../lib/errors.ts';
import { group } from '../lib/group.ts';
import { seededRandom } from '../lib/random.ts';
import { withPage } from '../report/runs/live-page.ts';
import { writeWatchPage } from '../report/status/report-file.ts';
import type { DEMO_RESULT } from '../report/json/tool-results.ts';
import type { TypeOf } from '../report/json/schema.ts';
import { DemoAccount } from './account.ts';
import { Application } from './application.ts';
import { demoText, type DemoFindings } from './picture.ts';
import { fill, makeSeed, SOURCE, SPLITS, TARGET, THROUGHPUT_RU, type Seed } from './shop.ts';
import { DemoPages } from './pages.ts';
import { runStory, type Pace } from './story.ts';
import type { RunningWatch } from '../watch/server.ts';

export interface DemoOptions {
  readonly fast: boolean;
  readonly keep: boolean;
  /** Whether the application returns to the source in the end. */
  readonly andBack: boolean;
  /** The port of the live page; undefined: it is not served. */
  readonly watch?: string | undefined;
}

const NORMAL: Pace = { documents: 2500, aloneMs: 5000, copyRu: 3600, tailMs: 4000 };
const FAST: Pace = { documents: 500, aloneMs: 1000, copyRu: 3600, tailMs: 500 };
/** The seed of all random choices, so that every demo has the same shop. */
const SEED = 7;
/** How long the demo waits for a browser to open the live page. */
const VIEWER_MS = 15_000;

export async function runDemo(context: Context, options: DemoOptions): Promise<Result | undefined> {
  try {
    return await perform(context, options);
  } catch (error) {
    throw error instanceof CanceledError ? stopped(error, options) : error;
  }
}

async function perform(context: Context, options: DemoOptions): Promise<Result | undefined> {
  const { out, clock } = context;
  const { keep, watch } = options;
  const startedMs = clock.monotonicMs();
  await using local = await DemoAccount.open({ isKept: keep });
  using pages = new DemoPages(keep ? local.folder : undefined);
  return await withPage({ watch, ledger: () => local.ledger }, context, async (live) => {
    if (live !== undefined) await waitForViewer(live, context);
    const findings = await migrate(context, options, { local, pages });
    const failed = writeWatchPage(pages.report, local.ledger, clock.now());
    if (failed !== undefined) throw failed;
    const kept = keep ? { kept: { folder: local.folder, endpoint: local.endpoint } } : {};
    const durationMs = clock.monotonicMs() - startedMs;
    const json: TypeOf<typeof DEMO_RESULT> = {
      command: 'demo',
      complete: true,
      ...findings,
      report: pages.report,
      ...kept,
      durationMs,
    };
    pages.keep();
    const aside = [
      `The migration on a page: ${pages.report}`,
      `The plan on a page: ${pages.plan}`,
      ...(keep ? lookAround(local) : []),
      ...NEXT,
    ].join('\n');
    const result = { json, text: demoText(findings), aside };
    if (live === undefined || context.stdin.isTTY !== true) return result;
    out.announce(result);
    await waitForEnter(context);
    return undefined;
  });
}

/** Fills the account, and runs the story of the migration in it. */
async function migrate(
  context: Context,
  { fast, keep, andBack }: DemoOptions,
  { local, pages }: { readonly local: DemoAccount; readonly pages: DemoPages },
): Promise<DemoFindings> {
  const { signal, out } = context;
  const pace = fast ? FAST : NORMAL;
  out.note(`a Cosmos account is ready at ${local.endpoint}`);
  if (keep) out.note(`its data and the ledger are kept in ${local.folder}`);
  const random = seededRandom(SEED);
  const seed = makeSeed(pace.documents, random);
  await fill(local.account, seed, signal);
  // The source looks like a container that has grown: the range of the largest tenant was split again and again.
  for (let splits = 0; splits < SPLITS; splits += 1) await local.split(SOURCE.container, signal);
  local.configure({ targetRu: pace.copyRu });
  for (const line of shopText(seed)) out.note(line);
  return group(signal, async (members) => {
    using work = new ChildSignal(members.signal);
    const application = new Application(local.account, seed.orders, random);
    members.start(async () => application.run(work.signal));
    const page = pages.plan;
    const parts = { context, local, page, application, seed, pace, returns: andBack };
    try {
      return await runStory({ ...parts, signal: members.signal });
    } finally {
      work.abort(new Error('the demo has ended'));
    }
  });
}

/** Keeps the live page for an operator at a terminal, until Enter or Ctrl-C. */
async function waitForEnter({ stdin, out, signal }: Context): Promise<void> {
  out.note('\nThe live page stays open until you press Enter.');
  const entered = stdin[Symbol.asyncIterator]().next();
  await Promise.race([entered, whenAborted(signal)]);
}

/** Gives the operator at a terminal time to open the page, so that it shows the migration from its beginning. */
async function waitForViewer(
  { viewed }: RunningWatch,
  { stdin, out, clock, signal }: Context,
): Promise<void> {
  if (stdin.isTTY !== true) return;
  out.note(`  the demo begins when the page is open, or in ${VIEWER_MS / 1000} s`);
  using waiting = new ChildSignal(signal);
  const late = clock.sleep(VIEWER_MS, waiting.signal);
  // It ends with an error when a viewer was there first.
  late.catch(() => {});
  await Promise.race([viewed, late]);
  waiting.abort(new Error('the page is open'));
  signal.throwIfAborted();
}

function shopText({ documents, kinds }: Seed): readonly string[] {
  const { collisions, withoutKey, withTtl, longIntegers } = kinds;
  return [
    `${formatCount(documents.length)} ${SOURCE.container} by ${SOURCE.keyPath}, in ${SPLITS + 1} ranges of ${formatCount(THROUGHPUT_RU / (SPLITS + 1))} RU/s; most belong to one tenant`,
    `hard cases: ${withoutKey} without ${TARGET.property}, ${collisions} collisions, ${withTtl} with TTL, ${longIntegers} long integers`,
    'an application creates, updates, moves and deletes orders all the time',
  ];
}

/** What to try with a container of one's own. */
const NEXT: readonly string[] = [
  '',
  'Next, with a container of your own; these commands write nothing to the account:',
  '  export COSMIG_SOURCE_CONNECTION_STRING="<the connection string>"',
  '  cosmig plan --source DB/CONTAINER --report plan.html --write-config 1',
  '  cosmig doctor',
  '  cosmig copy --dry-run',
  'Without an account, docs/getting-started.md does it with cosmig emulator.',
];

function lookAround({ folder, endpoint }: DemoAccount): readonly string[] {
  const port = new URL(endpoint).port;
  return [
    `Everything is in ${folder}.`,
    'To look around, start the account again:',
    `  cosmig emulator --port ${port} --data ${folder}/account.db`,
    'and in another terminal:',
    `  cosmig status --config ${folder}/cosmig.config.yaml`,
    `  cosmig dead-letters list --all --config ${folder}/cosmig.config.yaml`,
    `  cosmig status --report again.html --config ${folder}/cosmig.config.yaml`,
    `Remove it with: rm -r ${folder}`,
  ];
}

/** Returns the CanceledError of a stopped demo, with a text about the demo. */
function stopped({ signal }: CanceledError, { keep }: DemoOptions): CanceledError {
  return new CanceledError(signal, {
    why: keep
      ? 'the demo was stopped; its data was kept as it is'
      : 'the demo was stopped; its data was removed',
    hint: 'run cosmig demo again to start from scratch',
  });
}
