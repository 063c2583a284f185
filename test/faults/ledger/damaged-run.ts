/**
 * A migration whose ledger is damaged after a kill or a clean end. The next run must refuse the ledger with exit code 7,
 * or bring the target to the state of the source. If it says that the ledger has lost changes, the comparison that it
 * asks for comes first.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { repairAll } from '../../../src/engine/run.ts';
import { CosmigError } from '../../../src/lib/errors.ts';
import { seededRandom, type Random } from '../../../src/lib/random.ts';
import { suspectsOf } from '../../../src/workflows/compare.ts';
import { damage, type OlderFiles } from '../../helpers/damage.ts';
import { execIn } from '../../helpers/database-file.ts';
import { Move, type Order } from '../../helpers/migration/move.ts';
import { verifyMove } from '../../helpers/migration/verify.ts';

const DOCUMENTS = 40;
/** Rounds of one migration: each kills a run, damages its ledger, and runs again. */
export const ROUNDS = 5;
/** About the number of crash points that a run of so few documents passes. */
const POINTS = 40;
/** Five documents a page, so that a run has a middle. */
const SETTINGS = { avad: true, pageBytes: 2000 };
const ENDINGS = ['', '-wal', '-shm', '-mark'];

type Files = ReadonlyMap<string, Buffer>;

/** How the damaged runs ended. */
export interface Endings {
  refused: number;
  equal: number;
  swept: number;
}

/** Runs one migration with a damage in each of its rounds. Throws if one of them ends otherwise than it must. */
export async function runDamaged(seed: number, endings: Endings): Promise<void> {
  const random = seededRandom(seed);
  await using move = await Move.open({ settings: SETTINGS });
  await change(move, random, DOCUMENTS);
  let mayBeDamaged = false;
  for (let round = 0; round < ROUNDS; round += 1) {
    try {
      const how = await runRound(move, round, random);
      endings[how] += 1;
      mayBeDamaged ||= how !== 'refused';
    } catch (error) {
      if (error instanceof Error) error.message = `seed ${seed}, round ${round}: ${error.message}`;
      if (!mayBeDamaged || !isRefusal(error)) throw error;
      // No run has read what an earlier round damaged, until now. No intact ledger is left with which to continue.
      endings.refused += 1;
      return;
    }
  }
}

/** A killed run, a damage, and the run after it. */
async function runRound(move: Move, round: number, random: Random): Promise<keyof Endings> {
  const goal = round === 0 ? 'copy' : 'catch-up';
  const { files, older } = await killed(move, goal, random);
  await change(move, random, 6);
  write(move, files);
  const what = files.size === 0 ? 'no ledger yet' : damage(move.ledgerPath, random, older);
  const how = await settled(move, what);
  if (how === 'refused') {
    write(move, files);
    await finished(move);
  }
  await expectEqual(move, `${what} (${how})`);
  return how;
}

/** Runs with the damaged ledger to the end. */
async function settled(move: Move, what: string): Promise<keyof Endings> {
  try {
    return (await finished(move)) ? 'swept' : 'equal';
  } catch (error) {
    if (isRefusal(error)) return 'refused';
    if (error instanceof Error) error.message = `${what}: ${error.message}`;
    throw error;
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof CosmigError && error.exitCode === 7;
}

/** Runs copy and tail to the end, and the comparison if it is due; returns whether it was. */
async function finished(move: Move): Promise<boolean> {
  await move.run('copy');
  const { sweepPending } = await move.run('catch-up');
  if (!sweepPending) return false;
  const verdict = await verifyMove(move, { fresh: true });
  await repairAll(move.parts(), suspectsOf(move.parts().spec, verdict));
  return true;
}

/** A run that ends at a random crash point, as after SIGKILL, or cleanly; the files as they are then. */
async function killed(
  move: Move,
  goal: 'copy' | 'catch-up',
  random: Random,
): Promise<{ readonly files: Files; readonly older: OlderFiles }> {
  const older = { wal: [] as Buffer[], database: [] as Buffer[] };
  // Now and then the log is brought into the database, as SQLite does by itself in longer runs.
  const isLong = random.below(2) === 0;
  let files: Files | undefined;
  let left = random.below(POINTS);
  const abort = new AbortController();
  const end = new Error('killed');
  const ran = move.run(goal, {
    abort: abort.signal,
    drain: abort.signal,
    onPoint: () => {
      if (files !== undefined) throw end;
      const log = `${move.ledgerPath}-wal`;
      if (left % 4 === 0 && existsSync(log)) {
        older.wal.push(readFileSync(log));
        if (isLong) execIn(move.ledgerPath, 'PRAGMA wal_checkpoint(PASSIVE)');
        older.database.push(readFileSync(move.ledgerPath));
      }
      left -= 1;
      if (left >= 0) return;
      files = read(move);
      abort.abort(end);
      throw end;
    },
  });
  await ran.catch((error: unknown) => {
    if (files === undefined) throw error;
  });
  return { files: files ?? read(move), older };
}

function read({ ledgerPath }: Move): Files {
  const there = ENDINGS.filter((ending) => existsSync(ledgerPath + ending));
  return new Map(there.map((ending) => [ending, readFileSync(ledgerPath + ending)]));
}

function write({ ledgerPath }: Move, files: Files): void {
  for (const ending of [...ENDINGS, '-journal']) {
    const bytes = files.get(ending);
    if (bytes === undefined) rmSync(ledgerPath + ending, { force: true });
    else writeFileSync(ledgerPath + ending, bytes);
  }
}

/** Creates, moves and deletes some documents of the source. */
async function change(move: Move, random: Random, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    const number = count === DOCUMENTS ? n : random.below(DOCUMENTS + 10);
    const one: Order = {
      id: `o${number}`,
      customerId: `c${number % 7}`,
      tenantId: `t${random.below(5)}`,
      version: random.below(1e9),
    };
    if (count === DOCUMENTS || random.below(3) > 0) await move.put(one);
    else {
      await move.source
        .item(one.id, String(one['customerId']))
        .delete()
        .catch((error: unknown) => {
          if (!(error instanceof Error && 'code' in error && error.code === 404)) throw error;
        });
    }
  }
}

async function expectEqual(move: Move, about: string): Promise<void> {
  const [source, target] = [await move.documents(move.source), await move.documents(move.target)];
  if (JSON.stringify(source) !== JSON.stringify(target))
    throw new Error(`${about}: the target differs:\n${JSON.stringify(source)}\n${JSON.stringify(target)}`);
}
