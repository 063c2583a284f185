/** Targets that are adopted by a new ledger, after the ledger that has filled them is lost. */
import { existsSync, renameSync } from 'node:fs';
import type { Container } from '@azure/cosmos';
import { expect } from 'vitest';
import type { RunParts, RunSnapshot } from '../../../src/engine/run.ts';
import type { CrashPoint } from '../../../src/engine/unit/crash-points.ts';
import type { CosmigError } from '../../../src/lib/errors.ts';
import { completeAdoption } from '../../../src/workflows/adopt.ts';
import type { Move, Order } from './move.ts';

export const order = (n: number, more: object = {}): Order => ({
  id: `o${n}`,
  customerId: `c${n % 3}`,
  tenantId: `t${n % 2}`,
  n,
  ...more,
});
export const orders = Array.from({ length: 60 }, (_, n) => order(n));
/** Pages of about five documents, so that there is something between two of them. */
export const AVAD = { settings: { avad: true, pageBytes: 2000 } };

type Adopting = Partial<RunParts> & {
  readonly yes?: boolean;
  readonly flags?: Record<string, readonly string[]>;
};

/** What the engine does for `copy --adopt-target`, with `--yes` or without. */
export async function adopt(
  move: Move,
  { yes = true, flags, ...parts }: Adopting = {},
): Promise<RunSnapshot> {
  return move.run('copy', { adoptsTarget: true, flags: { yes: [String(yes)], ...flags }, ...parts });
}

export async function complete(move: Move, parts: Partial<RunParts> = {}): Promise<boolean> {
  return completeAdoption(move.parts(parts), () => {});
}

export async function refusalOf(work: Promise<unknown>): Promise<CosmigError> {
  return work.then(
    () => expect.unreachable('it was not refused'),
    (error: unknown) => error as CosmigError,
  );
}

/** Ends a run when it passes a point for the nth time. */
export function crashAt(wanted: CrashPoint, nth = 1): (point: CrashPoint) => void {
  let passed = 0;
  return (point) => {
    if (point === wanted) passed += 1;
    if (passed === nth) throw new Error('the process ends here');
  };
}

/** Loses the ledger: its files are elsewhere, where nothing looks for them. */
export function lose({ ledgerPath }: Pick<Move, 'ledgerPath'>): void {
  for (const end of ['', '-lock', '-mark'])
    if (existsSync(ledgerPath + end)) renameSync(ledgerPath + end, `${ledgerPath}.lost${end}`);
}

/** The documents of a side with their etags, which change with every write. */
export async function versions(side: Container): Promise<string[]> {
  const { resources } = await side.items.readAll().fetchAll();
  return resources.map(({ id, _etag }) => `${id} ${_etag}`).toSorted();
}

export async function expectEqual(move: Move): Promise<void> {
  expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
}
