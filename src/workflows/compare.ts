/**
 * What a cutover and a repair need from the verifier: whether both sides are equal, and which documents differ.
 * Invariant: a proof counts only for the spec with which it was made.
 */
import type { ComparisonResult, CompareScope } from '../engine/cutover/contract.ts';
import type { RunParts } from '../engine/run.ts';
import type { Suspect } from '../engine/letters/repair.ts';
import { NotReadyError } from '../lib/errors.ts';
import { fingerprint } from '../spec/fingerprint.ts';
import type { MigrationSpec } from '../spec/migration-spec.ts';
import type { ProofBasis } from '../state/journal.ts';
import type { MoverLock } from '../state/lock.ts';
import type { Candidate } from '../verify/recheck/candidate-store.ts';
import { parseKey } from '../verify/document-name.ts';
import { describeVoid, lastVerdict } from '../verify/last-verdict.ts';
import { readMsOf, VerifyStore, verifyPath } from '../verify/store.ts';
import { describeDifferences, describeInFlight, KIND_WORDS, type Verdict } from '../verify/verdict.ts';
import { verify, type VerifyProgress } from '../verify/verify.ts';

/** The maximum number of suspects in memory. The next comparison finds the others. */
const SUSPECTS_MAX = 100_000;

/** The last comparison of all documents that found both sides equal. */
export interface CleanComparison {
  readonly atMs: number;
  /** How long it took to read both sides; null: not known. */
  readonly readMs: number | null;
}

/**
 * Returns the last clean comparison with this spec; null if there was none, or if a later one found differences. Throws
 * while a cosmig verify is running.
 */
export function lastCleanComparison(spec: MigrationSpec): CleanComparison | null {
  const path = verifyPath(spec.ledger);
  if (VerifyStore.isInUse(path)) {
    throw new NotReadyError('a cosmig verify is running', {
      why: 'the cutover compares both sides while writers are stopped, and would have to wait for it',
      hint: 'let it finish or stop it, then run cosmig cutover again',
    });
  }
  const proof = VerifyStore.lastProof(path);
  if (proof?.fingerprint !== fingerprint(spec)) return null;
  return { atMs: proof.atMs, readMs: readMsOf(proof) };
}

/** Throws if there is no clean comparison because the last one has found differences. */
export function refuseDifferences(spec: MigrationSpec): void {
  const last = lastVerdict(verifyPath(spec.ledger));
  const why = last === null || last.fingerprint !== fingerprint(spec) ? null : describeVoid(last);
  if (why === null) return;
  throw new NotReadyError('no clean verification on record', {
    why,
    hint: 'stop cosmig tail if it runs; cosmig verify --repair fixes the differences and compares again; then run cosmig cutover',
  });
}

/**
 * Prevents other comparisons until the caller releases the lock. The cutover would have to wait for such a comparison
 * while writers are stopped.
 */
export function lockOutVerify({ ledger }: MigrationSpec): MoverLock {
  return VerifyStore.hold(verifyPath(ledger));
}

export interface ComparisonOrder {
  readonly deadlineMs: number;
  readonly lock?: MoverLock | undefined;
  readonly scope: CompareScope;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: VerifyProgress) => void;
  /** Gets the differences that the cutover repairs before it compares again. */
  readonly onUnequal?: (differences: Verdict['differences']) => void;
}

export async function compareForCutover(
  { spec, connections, clock, random, log, serviceTime, say = () => {} }: RunParts,
  { deadlineMs, signal, scope, onProgress = () => {}, onUnequal = () => {}, lock }: ComparisonOrder,
): Promise<ComparisonResult> {
  const parts = { spec, connections, clock, random, log, serviceTime, signal, deadlineMs, onProgress, say };
  say('comparing both sides');
  const again = scope === 'what differed';
  const level = scope === 'changes' || scope === 'writes' ? 'changes' : 'digest';
  const locked = lock === undefined ? {} : { lock };
  const isCounted = scope !== 'writes';
  const verdict = await verify({ ...parts, ...locked, level, fresh: !again, again, newest: true, isCounted });
  const { equal, differences, inFlight } = verdict;
  if (equal === false) onUnequal(differences);
  const { extra, ...others } = differences;
  const suspects = suspectsOf(spec, verdict, lock);
  const hasOthers = inFlight > 0 || Object.values(others).some((documents) => documents > 0);
  const areExtra = suspects.length === extra && !hasOthers;
  const isWhole = verdict.details.extent === 'all';
  const basis = equal === true ? basisOf(verdict, scope) : null;
  const targetUpTo = new Map(
    verdict.details.ranges.target.flatMap(({ id, upToLsn }) =>
      upToLsn === undefined ? [] : [[id, upToLsn]],
    ),
  );
  return { equal, why: describeVerdict(verdict), suspects, areExtra, isWhole, basis, targetUpTo };
}

function basisOf({ details, source, target }: Verdict, scope: CompareScope): ProofBasis {
  const { extent, sinceMs = null, counted } = details;
  if (extent === 'changes') return { compared: 'changes', sinceMs, documents: counted ?? null };
  // After a repair only what differed was looked at again, and nothing was counted again.
  const documents = scope === 'what differed' ? null : { source: source.count, target: target.count };
  return { compared: 'all', sinceMs: null, documents };
}

/** Returns the documents that the last comparison has confirmed to differ. */
export function suspectsOf(
  spec: MigrationSpec,
  { equal }: Pick<Verdict, 'equal'>,
  lock?: MoverLock,
): readonly Suspect[] {
  if (equal !== false) return [];
  using store = VerifyStore.open(verifyPath(spec.ledger), lock);
  const found: Suspect[] = [];
  for (const candidate of store.candidates.all('confirmed'))
    if (found.push(suspectFrom(candidate)) === SUSPECTS_MAX) break;
  return found;
}

/** Returns whether the last comparison began after a repair. */
export function isAfterRepair({ ledger }: MigrationSpec): boolean {
  using store = VerifyStore.open(verifyPath(ledger));
  return store.begun()?.isAfterRepair === true;
}

function suspectFrom({ name: { id, sourceKey, targetKeys } }: Candidate): Suspect {
  return { name: [id, ...sourceKey], seenAt: targetKeys.map(parseKey) };
}

/** How many documents a refusal names. */
const NAMED_MAX = 3;

function describeVerdict(verdict: Verdict): string {
  const { equal, differences, samples } = verdict;
  if (equal === true) return 'both sides are equal';
  if (equal === null) return describeInFlight(verdict);
  const named = samples
    .slice(0, NAMED_MAX)
    .map(
      ({ kind, id, sourceKey }) =>
        `${KIND_WORDS[kind]} ${JSON.stringify(id)} of ${JSON.stringify(sourceKey)}`,
    );
  return [describeDifferences(differences), ...named].join(', ');
}
