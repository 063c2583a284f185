/**
 * The acts of the demo in order: the plan, the application alone, the copy with a range that splits half-way, the tail with a
 * collision that is fixed, the proof, the closed gate, the cutover, the application alone again, and the way back.
 */
import type { Context } from '../cli/command.ts';
import { sleep } from '../lib/abort.ts';
import { must } from '../lib/assert.ts';
import { pluralize } from '../lib/counting.ts';
import { NotReadyError } from '../lib/errors.ts';
import { systemRandom } from '../lib/random.ts';
import { formatDuration } from '../report/format.ts';
import type { Letter } from '../state/dead-letters.ts';
import type { DemoAccount } from './account.ts';
import { patiently, type Application } from './application.ts';
import { AGAIN, DATABASE, LONG, SOURCE, TARGET, type Seed } from './shop.ts';
import { Steps, type Plan } from './steps.ts';
import type { DemoFindings, Spread } from './picture.ts';

/** The size of the demo and the duration of its acts. */
export interface Pace {
  readonly documents: number;
  /** How long the load of the application alone is measured. */
  readonly aloneMs: number;
  /** The RU/s that the copy may use. */
  readonly copyRu: number;
  /** How long the tail runs before the next act. */
  readonly tailMs: number;
}

interface Story {
  readonly context: Context;
  readonly local: DemoAccount;
  /** The path of the page that shows the plan. */
  readonly page: string;
  readonly application: Application;
  readonly seed: Seed;
  readonly pace: Pace;
  /** Whether the application returns to the source in the end. */
  readonly returns: boolean;
  readonly signal: AbortSignal;
}

/** How long the demo waits for a dead letter to close. */
const CLOSING_MS = 30_000;
/** The interval at which the demo checks a state that it waits for. */
const CHECK_MS = 25;
/** How many key values the picture shows. */
const TOP = 5;

export async function runStory(parts: Story): Promise<DemoFindings> {
  const { context, local, application, seed, pace, returns, signal } = parts;
  const steps = new Steps({ context, local, signal });
  // Planned and counted before the account limits RU/s, which would make the demo longer.
  const plan = showPlan(parts, steps, await steps.plan(parts.page));
  const keysBefore = await countKeys(local, SOURCE, signal);
  await local.meter(signal);
  const before = describeContainer(SOURCE, keysBefore, await measureLoad(parts, SOURCE));

  const [copied, split] = await Promise.all([steps.copy(), splitHalfWay(parts, steps)]);
  const collided = (await letters(local)).length;
  steps.say(
    `${pluralize(documentsOf(copied, 'written'), 'document')} copied; ${collided} would have overwritten others and wait as ${pluralize(collided, 'dead letter')}`,
  );
  const tailed = await steps.tailWhile(async () => {
    await sleep(pace.tailMs, signal);
    await application.resolveCollision(0, signal);
    await waitForLettersToClose(parts, 1);
    steps.say('the application fixes one collision: its dead letter closes by itself');
    await steps.verify();
  });
  const refused = await steps.refusedCutover();
  if (returns) await resolveLast(parts, steps);
  else await discardLast(parts, steps);
  const hooks = {
    stopWriters: async () => application.stop(),
    onAbort: async () => application.resume(),
  };
  const onCommit = async (): Promise<void> => application.switchTo(TARGET);
  const cut = await steps.cutOver({ ...hooks, onCommit }, { keeps: returns });
  steps.say(`committed; writers were stopped for ${formatDuration(stoppedMsOf(cut))}`);
  const load = await measureLoad(parts, TARGET);
  await application.stop();
  const after = describeContainer(TARGET, await countKeys(local, TARGET, signal), load);

  const orders = await application.findAll(signal);
  const compared = totalOf(await countKeys(local, SOURCE, signal));
  const target = await readLongInteger(parts, TARGET);
  const back = returns ? { back: await goBack(parts, steps) } : {};
  const late = cut['lateWrites'];
  return {
    plan,
    before,
    after,
    seeded: seed.kinds,
    moved: {
      copied: documentsOf(copied, 'written'),
      replayed: documentsOf(tailed, 'written') + documentsOf(cut, 'written'),
      moved: documentsOf(tailed, 'moved') + documentsOf(cut, 'moved'),
      deleted: documentsOf(tailed, 'deleted') + documentsOf(cut, 'deleted'),
    },
    application: { ...application.written },
    split,
    letters: (await letters(local)).map(({ number, state, reason, id, targetKey }) => {
      return { number, state, reason, id, targetKey };
    }),
    refused,
    stoppedMs: stoppedMsOf(cut),
    proof: {
      equal: cut['phase'] === 'committed',
      compared,
      orders,
      long: { source: await readLongInteger(parts, SOURCE), target },
      lateWrites: Array.isArray(late) ? late.length : 0,
    },
    ...back,
  };
}

/** Accepts that one of the invoices that collide is not migrated. */
async function discardLast({ local }: Story, steps: Steps): Promise<void> {
  const open = must(
    (await letters(local)).find(({ state }) => state === 'open'),
    'one collision is not resolved',
  );
  await steps.discard(open.number);
}

/** Resolves the other collision too: a document that is given up could not be distinguished on the way back. */
async function resolveLast(parts: Story, steps: Steps): Promise<void> {
  const { application, signal } = parts;
  await steps.tailWhile(async () => {
    await application.resolveCollision(1, signal);
    await waitForLettersToClose(parts, 2);
    steps.say('the application fixes the other collision as well');
  });
}

/** The shop finds that the new key was wrong, and returns to the source. */
async function goBack(parts: Story, steps: Steps): Promise<NonNullable<DemoFindings['back']>> {
  const { context, application, pace, signal } = parts;
  context.out.note('the shop wants its old key back; the application still writes to the target');
  application.resume();
  const reversed = await steps.reverseWhile(async () => {
    await sleep(pace.tailMs, signal);
    await steps.verifyReverse();
  });
  const rolled = await steps.rollBack({
    stopWriters: async () => application.stop(),
    onCommit: async () => application.switchTo(SOURCE),
    onAbort: async () => application.resume(),
  });
  steps.say(`committed; writers were stopped for ${formatDuration(stoppedMsOf(rolled))}`);
  await sleep(pace.tailMs, signal);
  await application.stop();
  return {
    replicated: documentsOf(reversed, 'written') + documentsOf(rolled, 'written'),
    moved: documentsOf(reversed, 'moved') + documentsOf(rolled, 'moved'),
    deleted: documentsOf(reversed, 'deleted') + documentsOf(rolled, 'deleted'),
    stoppedMs: stoppedMsOf(rolled),
    orders: await application.findAll(signal),
  };
}

/** Says what the plan advises, and why the shop takes another candidate. */
function showPlan({ page }: Story, steps: Steps, result: Plan): DemoFindings['plan'] {
  const { recommendation, candidates } = result;
  const chosen = must(
    candidates.find(({ key }) => key === TARGET.keyPath),
    'the plan proposes the key that the shop takes',
  );
  const against = chosen.verdict.blockers[0]?.text ?? null;
  const now = recommendation.why.slice(0, 2).map((why) => why.replace(/^now, /, ''));
  steps.say(`now: ${now.join(', ')}`);
  steps.say(`it advises ${recommendation.key ?? 'to keep the key'}`);
  if (against !== null) steps.say(`not ${TARGET.keyPath}: ${against}`);
  steps.say(`the shop takes ${TARGET.keyPath} nevertheless, since its queries name the customer`);
  return { action: recommendation.action, key: recommendation.key ?? null, against, page };
}

function stoppedMsOf(cut: Readonly<Record<string, unknown>>): number {
  return Number(cut['stoppedMs'] ?? 0);
}

function documentsOf({ documents }: Readonly<Record<string, unknown>>, name: string): number {
  if (typeof documents !== 'object' || documents === null) return 0;
  return Number(Object.entries(documents).find(([key]) => key === name)?.[1] ?? 0);
}

type ShopSide = typeof SOURCE | typeof TARGET;

type Ranges = Spread['ranges'];

/** Measures the load on each range of a container while only the application runs. */
async function measureLoad({ local, pace, signal }: Story, { container }: ShopSide): Promise<Ranges> {
  const from = must(await local.look(container, signal), 'it was made');
  await sleep(pace.aloneMs, signal);
  const to = must(await local.look(container, signal), 'the demo does not delete it');
  return to.ranges.map(({ id, documents, ru, throttled }) => {
    const then = from.ranges.find((range) => range.id === id);
    const perSecond = Math.round(((ru - (then?.ru ?? 0)) * 1000) / pace.aloneMs);
    return { id, documents, ru: perSecond, throttled: throttled - (then?.throttled ?? 0) };
  });
}

type Counts = ReadonlyMap<string | null, number>;

function describeContainer({ container, keyPath }: ShopSide, counts: Counts, ranges: Ranges): Spread {
  const sorted = [...counts].toSorted(([, one], [, other]) => other - one);
  return {
    container: `${DATABASE}/${container}`,
    partitionKey: keyPath,
    documents: totalOf(counts),
    keys: counts.size,
    top: sorted.slice(0, TOP).map(([key, documents]) => ({ key, documents })),
    ranges,
  };
}

/** Counts the documents of each key value. Counts again from zero after a 429. */
async function countKeys(
  { account }: DemoAccount,
  { container, property }: ShopSide,
  signal: AbortSignal,
): Promise<Counts> {
  const { items } = account.client.database(DATABASE).container(container);
  const count = async (): Promise<Counts> => {
    const pages = items.query<{ readonly k?: string }>(`SELECT c.${property} AS k FROM c`, {
      maxItemCount: 500,
    });
    const counts = new Map<string | null, number>();
    while (pages.hasMoreResults()) {
      signal.throwIfAborted();
      const { resources } = await pages.fetchNext();
      for (const { k = null } of resources) counts.set(k, (counts.get(k) ?? 0) + 1);
    }
    return counts;
  };
  return patiently(count, { signal });
}

/** Splits the fullest range of the source as soon as half of the documents are in the target. */
async function splitHalfWay({ local, pace, signal }: Story, steps: Steps): ReturnType<DemoAccount['split']> {
  for (;;) {
    const target = await local.look(TARGET.container, signal);
    if (target !== undefined && target.documents * 2 >= pace.documents) break;
    await sleep(CHECK_MS, signal);
  }
  const split = await local.split(SOURCE.container, signal);
  steps.say(`half-way, range ${split.from} of the source splits into ${split.into.join(' and ')}`);
  return split;
}

async function letters({ ledger: path }: DemoAccount): Promise<Letter[]> {
  const { Ledger } = await import('../state/ledger.ts');
  using ledger = Ledger.openReadonly(path);
  return ledger.letters.list({ state: 'any', after: 0, limit: 100 });
}

async function waitForLettersToClose({ local, context, signal }: Story, count: number): Promise<void> {
  const endMs = context.clock.monotonicMs() + CLOSING_MS;
  const closed = async (): Promise<number> =>
    (await letters(local)).filter(({ state }) => state === 'closed').length;
  while ((await closed()) < count) {
    if (context.clock.monotonicMs() > endMs) {
      throw new NotReadyError('the dead letter of the fixed document is still open', {
        why: `the tail did not reach it within ${CLOSING_MS / 1000} s`,
        hint: AGAIN,
      });
    }
    await sleep(CHECK_MS, signal);
  }
}

function totalOf(counts: Counts): number {
  return [...counts.values()].reduce((sum, documents) => sum + documents, 0);
}

/** Reads the 64-bit integer from the bytes of the document, since JSON.parse would round it. */
async function readLongInteger(
  { local, context, signal }: Story,
  { container, property }: ShopSide,
): Promise<string | null> {
  const { readDocument } = await import('../cosmos/container/read-document.ts');
  const wanted = {
    name: { database: DATABASE, container },
    key: [LONG[property]],
    id: Buffer.from(JSON.stringify(LONG.id)),
  };
  const document = await readDocument(local.account, wanted, {
    clock: context.clock,
    random: systemRandom,
    onWait: () => {},
    signal,
  });
  return /"trace":(\d+)/.exec(document?.toString() ?? '')?.[1] ?? null;
}
