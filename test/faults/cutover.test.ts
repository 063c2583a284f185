/**
 * A cutover that dies anywhere. The invariant: the ledger never says "committed" unless both sides hold the same, and
 * from every state that a death leaves behind the next cutover leads on.
 */
import { expect, test } from 'vitest';
import { runCutover } from '../../src/engine/run.ts';
import { CanceledError } from '../../src/lib/errors.ts';
import { CUTOVER } from '../helpers/migration/cutover-parts.ts';
import { seeded } from './harness/seed.ts';
import { Move, type Order } from '../helpers/migration/move.ts';

const TRIES = 14;

async function begin(): Promise<Move> {
  const move = await Move.open({ settings: { avad: true, pageBytes: 1500 } });
  const orders = Array.from({ length: 12 }, (_, n): Order => ({
    id: `o${n}`,
    customerId: `c${n % 3}`,
    tenantId: `t${n % 2}`,
  }));
  await move.put(...orders);
  await move.run('copy');
  return move;
}

/** Changes of every kind, which the cutover itself has to replicate. */
async function change(move: Move, round: number): Promise<void> {
  const [created, moved] = [`new${round}`, `o${round % 12}`];
  await move.put(
    { id: created, customerId: 'z', tenantId: 't0' },
    { id: moved, customerId: `c${(round % 12) % 3}`, tenantId: `moved${round}` },
  );
  await move.source
    .item(`new${round - 1}`, 'z')
    .delete()
    .catch(() => {});
}

async function isEqual(move: Move): Promise<boolean> {
  const [source, target] = [await move.documents(move.source), await move.documents(move.target)];
  return JSON.stringify(source) === JSON.stringify(target);
}

/** One attempt that dies when something has happened for the n-th time; whether it got to its end. */
async function attempt(move: Move, dieAt: number): Promise<boolean> {
  const crash = new AbortController();
  let happened = 0;
  const happen = (): void => {
    happened += 1;
    if (happened === dieAt) crash.abort(new CanceledError('SIGINT'));
  };
  try {
    await runCutover(move.parts({ abort: crash.signal, onPoint: happen }), {
      ...CUTOVER,
      stopWriters: async () => happen(),
      onCommit: async () => happen(),
      onAbort: async () => happen(),
      prove: async () => {
        happen();
        const equal = await isEqual(move);
        happen();
        return { equal, why: 'they differ', suspects: [] };
      },
      say: happen,
    });
    return true;
  } catch (error) {
    if (!crash.signal.aborted) throw error;
    return false;
  }
}

const phaseOf = (move: Move): string => move.ledger(({ migration }) => migration.read().phase);

test('cutover: faults and crashes -> it never commits two sides that differ, and the next run continues', async () => {
  await seeded(async (random) => {
    await using move = await begin();
    const phases = new Set<string>();
    for (let round = 1; round <= TRIES && phaseOf(move) !== 'committed'; round += 1) {
      await change(move, round);
      // Early deaths first, so that most of its states are left behind.
      const isDone = await attempt(move, 1 + random.below(5 * round));
      const phase = phaseOf(move);
      phases.add(phase);
      const equal = phase !== 'committed' || (await isEqual(move));
      expect({ round, phase, equal }).toEqual({ round, phase: isDone ? 'committed' : phase, equal: true });
    }
    if (phaseOf(move) !== 'committed') await attempt(move, Infinity);
    expect([phaseOf(move), await isEqual(move), phases.size > 1]).toEqual(['committed', true, true]);
  });
});
