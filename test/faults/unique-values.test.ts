/**
 * Twelve documents that compete for slots and for unique values, in a process that is aborted at random moments, over
 * a network that loses replies, while ranges split. At rest each is in the target, or has a letter that is true.
 */
import { expect, test } from 'vitest';
import { seededRandom } from '../../src/lib/random.ts';
import { openDatabase } from '../../src/lib/sqlite/sqlite.ts';
import type { Letter } from '../../src/state/dead-letters.ts';
import type { FaultRule } from '../helpers/emulator/admin.ts';
import { seedsOf } from './harness/migration/seeds.ts';
import { sized } from '../helpers/nightly.ts';
import { Move, type Order } from '../helpers/migration/move.ts';

const SEEDS = seedsOf(sized({ daily: [112], nightly: [101, 104, 112] }));
const ROUNDS = 8;

const often = (op: FaultRule['match']['op'], effect: FaultRule['effect']): FaultRule => ({
  match: { op },
  probability: 0.03,
  effect,
});
const TROUBLE: readonly FaultRule[] = [
  often('batch', { reset: 'after' }),
  often('batch', { reset: 'before' }),
  often('batch', { status: 503 }),
  often('batch', { status: 429, retryAfterMs: 5 }),
  often('read-feed', { body: 'truncated' }),
];

class Shuffle {
  readonly move: Move;
  readonly #random;

  constructor(move: Move, seed: number) {
    this.move = move;
    this.#random = seededRandom(seed);
  }

  below(count: number): number {
    return Math.floor(this.#random.next() * count);
  }

  pick<T>(...list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }

  /** The application does something. */
  async write(): Promise<void> {
    const [id, customerId] = [this.pick('7', '8', '9'), this.pick('a', 'b', 'c', 'd')];
    if (this.below(5) > 0) {
      const [tenantId, mail] = [this.pick('P', 'Q'), this.pick('v', 'w', 'x', 'y', 'z')];
      await this.move.put({ id, customerId, tenantId, mail });
      return;
    }
    try {
      await this.move.source.item(id, customerId).delete();
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 404)) throw error;
    }
  }

  /** The fullest range of a container splits. */
  async split(path: string): Promise<void> {
    const ranges = await this.move.admin.ranges(path);
    const [range] = ranges.toSorted((a, b) => b.documents - a.documents);
    await this.move.admin.split(path, range === undefined ? {} : { rangeId: range.id });
  }

  /** A run under faults, which may be aborted, while the application writes. */
  async run(): Promise<void> {
    const crash = new AbortController();
    const crashAt = this.pick(Infinity, this.below(25));
    const busy: Promise<void>[] = [];
    let points = 0;
    const onPoint = (): void => {
      points += 1;
      if (points === crashAt) crash.abort(new Error('crash'));
      if (points % 5 === 2 && points < 40) busy.push(this.write());
    };
    try {
      await this.move.run('copy', { abort: crash.signal, onPoint });
    } catch (error) {
      if (!crash.signal.aborted) throw error;
    }
    await Promise.all(busy);
  }

  /**
   * The application has stopped, and what was written is moved in one run: the retries at the start of a run come before it,
   * so letters that its changes help are promoted or stay.
   */
  async rest(): Promise<void> {
    await this.move.admin.clearFaults();
    await this.move.admin.account({ replicaLagMs: 0 });
    await this.move.run('copy');
    for (let n = 0; n < 4; n += 1) await this.write();
    await this.move.run('copy');
  }
}

const nameOf = ({ id, customerId }: Order): string => `${id} of ${String(customerId)}`;

/** Everything that is not as it should be, in words. */
async function problemsOf(move: Move): Promise<string[]> {
  const source = await move.documents(move.source);
  const target = await move.documents(move.target);
  const letters = move.ledger((ledger) => ledger.letters.list({ state: 'open', after: 0, limit: 99 }));
  const open = new Map(letters.map((letter) => [whose(letter), letter.reason]));
  const there = new Map(target.map((one) => [nameOf(one), one]));
  const names = new Set(source.map(nameOf));
  const wrong = source.flatMap((one) => {
    const name = nameOf(one);
    const reason = open.get(name);
    const isThere = JSON.stringify(there.get(name)) === JSON.stringify(one);
    if (isThere) return reason === undefined ? [] : [`${name} is there, and has a letter`];
    const within = target.filter((other) => other['tenantId'] === one['tenantId'] && nameOf(other) !== name);
    if (reason === 'collision' && within.some(({ id }) => id === one.id)) return [];
    if (reason === 'unique-key' && within.some(({ mail }) => mail === one['mail'])) return [];
    return [
      `${name} is not there, ${reason === undefined ? 'without a letter' : `and no ${reason} is true`}`,
    ];
  });
  const left = [...there.keys(), ...open.keys()].filter((name) => !names.has(name));
  const twice = target.length === there.size ? [] : ['a document is there twice'];
  return [...wrong, ...sharedSlots(move), ...left.map((name) => `${name} is gone from the source`), ...twice];
}

/** No two documents live in one place by what the ledger says. */
function sharedSlots({ ledgerPath }: Move): string[] {
  const database = openDatabase({ path: ledgerPath, readonly: true });
  try {
    const sql = "SELECT hex(slot) FROM documents WHERE state = 'live' GROUP BY slot HAVING count(*) > 1";
    return database
      .prepare<[], string>(sql)
      .pluck()
      .all()
      .map((slot) => `two rows claim ${slot}`);
  } finally {
    database.close();
  }
}

function whose({ id, sourceKey }: Letter): string {
  const [customerId] = JSON.parse(sourceKey) as unknown[];
  return nameOf({ id: JSON.parse(id) as string, customerId });
}

test.each(SEEDS)(
  'unique values: documents compete for values and slots -> the target is as the rules say, seed %d',
  async (seed) => {
    await using move = await Move.open({
      settings: { avad: true, pageBytes: 1500 },
      target: { uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/mail'] }] } },
    });
    const shuffle = new Shuffle(move, seed);
    for (let n = 0; n < 12; n += 1) await shuffle.write();
    for (let round = 0; round < ROUNDS; round += 1) {
      if (round === 3 || round === 6) await shuffle.split('shop/by-tenant');
      if (round === 4 || round === 6) await shuffle.split('shop/orders');
      await move.admin.faults(TROUBLE, seed * 100 + round);
      await move.admin.account({ replicaLagMs: shuffle.pick(0, 40) });
      await shuffle.run();
      await shuffle.rest();
      expect({ seed, round, problems: await problemsOf(move) }).toEqual({ seed, round, problems: [] });
      expect(move.ledger(({ units }) => units.unsettled())).toEqual([]);
    }
  },
);
