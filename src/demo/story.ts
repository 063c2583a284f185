/**
 * The story that the demo tells, act by act: the application alone, the copy with a range that splits half-way, the tail
 * with a collision that is mended, the proof, the gate, the cutover, and the application alone again.
 */
import type { Context } from '../cli/command.ts';
import { sleep } from '../lib/abort.ts';
import { must } from '../lib/assert.ts';
import { NotReadyError } from '../lib/errors.ts';
import { systemRandom } from '../lib/random.ts';
import type { Letter } from '../state/dead-letters.ts';
import type { DemoAccount } from './account.ts';
import { patiently, type Application } from './application.ts';
import { AGAIN, DATABASE, LONG, SOURCE, TARGET, THROUGHPUT_RU, type Seed } from './shop.ts';
import { Steps } from './steps.ts';
import type { Findings, Spread } from './picture.ts';
import { counted } from '../report/format.ts';

/** How long it all takes. */
export interface Pace {
  readonly documents: number;
  /** How long the application is watched while it is alone. */
  readonly aloneMs: number;
  /** What the copy may spend in a second. */
  readonly copyRu: number;
  /** How long the tail follows before anything is asked of it. */
  readonly tailMs: number;
}

interface Play {
  readonly context: Context;
  readonly place: DemoAccount;
  readonly application: Application;
  readonly seed: Seed;
  readonly pace: Pace;
  readonly signal: AbortSignal;
}

/** How long is waited for a letter to close. */
const CLOSING_MS = 30_000;
/** Between two looks. */
const LOOK_MS = 25;
/** Key values that are shown. */
const TOP = 5;

export async function play(parts: Play): Promise<Findings> {
  const { context, place, application, seed, pace, signal } = parts;
  const { out } = context;
  const steps = new Steps({ context, place, signal });
  out.note('the application creates, updates, moves and deletes orders all the time');
  // Counted while that costs nothing; from now on the account is metered.
  const keysBefore = await countKeys(place, SOURCE, signal);
  await place.meter(signal);
  const before = told(SOURCE, keysBefore, await watch(parts, SOURCE));

  const [copied, split] = await Promise.all([steps.copy(), splitHalfWay(parts)]);
  out.note(`  ${counted(documentsOf(copied, 'written'), 'document')} copied while the application wrote`);
  const tailed = await steps.tailBeside(async () => {
    await sleep(pace.tailMs, signal);
    await application.mendCollision(signal);
    out.note('  the application gives one of the colliding invoices to another customer');
    await letterClosed(parts);
    out.note('  its dead letter closed by itself');
    await steps.verify();
  });
  const refused = await steps.refusedCutover();
  const open = must(
    (await letters(place)).find(({ state }) => state === 'open'),
    'one collision is not mended',
  );
  await steps.discard(open.number);
  const cut = await steps.cutOver({
    stopWriters: async () => application.stop(),
    onCommit: async () => application.switchOver(),
    onAbort: async () => application.resume(),
  });
  await scaleDown(place);
  out.note('the application goes on in the target');
  const load = await watch(parts, TARGET);
  await application.stop();
  const after = told(TARGET, await countKeys(place, TARGET, signal), load);

  const orders = await application.findAll(signal);
  const late = cut['lateWrites'];
  return {
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
    letters: (await letters(place)).map(({ number, state, reason, id, targetKey }) => {
      return { number, state, reason, id, targetKey };
    }),
    refused,
    stoppedMs: Number(cut['stoppedMs'] ?? 0),
    proof: {
      equal: cut['phase'] === 'committed',
      compared: await countIn(place, SOURCE, signal),
      orders,
      long: { source: await longIn(parts, SOURCE), target: await longIn(parts, TARGET) },
      lateWrites: Array.isArray(late) ? late.length : 0,
    },
  };
}

function documentsOf({ documents }: Readonly<Record<string, unknown>>, name: string): number {
  if (typeof documents !== 'object' || documents === null) return 0;
  return Number(Object.entries(documents).find(([key]) => key === name)?.[1] ?? 0);
}

type Place = typeof SOURCE | typeof TARGET;

type Ranges = Spread['ranges'];

/** What the application, while it is alone, costs each range. */
async function watch({ place, pace, signal }: Play, { container }: Place): Promise<Ranges> {
  const from = must(await place.look(container, signal), 'it was made');
  await sleep(pace.aloneMs, signal);
  const to = must(await place.look(container, signal), 'nobody deletes it');
  return to.ranges.map(({ id, documents, ru, throttled }) => {
    const then = from.ranges.find((range) => range.id === id);
    const perSecond = Math.round(((ru - (then?.ru ?? 0)) * 1000) / pace.aloneMs);
    return { id, documents, ru: perSecond, throttled: throttled - (then?.throttled ?? 0) };
  });
}

type Counts = ReadonlyMap<string | null, number>;

function told({ container, keyPath }: Place, counts: Counts, ranges: Ranges): Spread {
  const sorted = [...counts].toSorted(([, one], [, other]) => other - one);
  return {
    container: `${DATABASE}/${container}`,
    partitionKey: keyPath,
    documents: sorted.reduce((sum, [, documents]) => sum + documents, 0),
    keys: counts.size,
    top: sorted.slice(0, TOP).map(([key, documents]) => ({ key, documents })),
    ranges,
  };
}

/** How many documents each key value has; begun anew when the service is busy. */
async function countKeys(
  { account }: DemoAccount,
  { container, property }: Place,
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

/** Splits the fullest range of the source as soon as half of it is in the target. */
async function splitHalfWay({ context, place, pace, signal }: Play): ReturnType<DemoAccount['split']> {
  for (;;) {
    const target = await place.look(TARGET.container, signal);
    if (target !== undefined && target.documents * 2 >= pace.documents) break;
    await sleep(LOOK_MS, signal);
  }
  const split = await place.split(SOURCE.container, signal);
  context.out.note(`  half-way: range ${split.from} of the source is split into ${split.into.join(' and ')}`);
  return split;
}

async function letters({ ledger: path }: DemoAccount): Promise<Letter[]> {
  const { Ledger } = await import('../state/ledger.ts');
  using ledger = Ledger.openReadonly(path);
  return ledger.letters.list({ state: 'any', after: 0, limit: 100 });
}

async function letterClosed({ place, context, signal }: Play): Promise<void> {
  const endMs = context.clock.now() + CLOSING_MS;
  while (!(await letters(place)).some(({ state }) => state === 'closed')) {
    if (context.clock.now() > endMs) {
      throw new NotReadyError('the dead letter of the mended document is still open', {
        why: `the tail did not get to it within ${CLOSING_MS / 1000} s`,
        hint: AGAIN,
      });
    }
    await sleep(LOOK_MS, signal);
  }
}

/** The load is over: the target costs what the source has cost. */
async function scaleDown({ account }: DemoAccount): Promise<void> {
  const { resource } = await account.client.database(DATABASE).container(TARGET.container).readOffer();
  const offer = must(resource, 'the target has its own throughput');
  const { content } = offer;
  if (content !== undefined) content.offerThroughput = THROUGHPUT_RU;
  await account.client.offer(must(offer.id, 'an offer has an id')).replace(offer);
}

async function countIn({ account }: DemoAccount, { container }: Place, signal: AbortSignal): Promise<number> {
  const items = account.client.database(DATABASE).container(container).items;
  const { resources } = await patiently(
    async () => items.query<number>('SELECT VALUE COUNT(1) FROM c').fetchAll(),
    { signal },
  );
  return resources[0] ?? 0;
}

/** The 64-bit integer as it stands in the bytes. */
async function longIn(
  { place, context, signal }: Play,
  { container, property }: Place,
): Promise<string | null> {
  const { readDocument } = await import('../cosmos/container/read-document.ts');
  const { Patience } = await import('../cosmos/load/retry.ts');
  const patience = new Patience({ clock: context.clock, random: systemRandom });
  const wanted = {
    container: { database: DATABASE, container },
    key: [LONG[property]],
    id: JSON.stringify(LONG.id),
  };
  const document = await readDocument(place.account, wanted, { signal, patience });
  return /"trace":(\d+)/.exec(document?.toString() ?? '')?.[1] ?? null;
}
