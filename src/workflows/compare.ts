/** What the cutover and the repair ask of the verifier: whether both sides are equal, and which documents are not. */
import type { CompareScope, ComparisonResult } from '../engine/cutover/contract.ts';
import type { RunParts } from '../engine/run.ts';
import type { Suspect } from '../engine/letters/repair.ts';
import { NotReadyError } from '../lib/errors.ts';
import { fingerprint } from '../spec/fingerprint.ts';
import type { MigrationSpec } from '../spec/migration-spec.ts';
import type { MoverLock } from '../state/lock.ts';
import type { Candidate } from '../verify/recheck/candidate-store.ts';
import { keyOf } from '../verify/document-name.ts';
import { VerifyStore, verifyPath } from '../verify/store.ts';
import type { Verdict } from '../verify/verdict.ts';
import { verify, type Progress } from '../verify/verify.ts';
import { KIND_WORDS, kindsText } from '../report/verify.ts';
import { counted } from '../report/format.ts';

/** More at a time would only wait in memory; the next comparison finds the others. */
const SUSPECTS_MAX = 100_000;

/** When both sides were last found equal by a whole comparison with this spec; null: never. Refuses beside another one. */
export function lastCleanMs(spec: MigrationSpec): number | null {
  const path = verifyPath(spec.ledger);
  if (VerifyStore.isAtWork(path)) {
    throw new NotReadyError('a cosmig verify is at work', {
      why: 'a cutover compares both sides with writers stopped, and would wait for it',
      hint: 'let it end or stop it, then run cosmig cutover again',
    });
  }
  const proof = VerifyStore.lastProof(path);
  return proof?.fingerprint === fingerprint(spec) ? proof.atMs : null;
}

/** From the gate on nobody else compares, for whom the writers would have to wait. */
export function holdComparisons({ ledger }: MigrationSpec): MoverLock {
  return VerifyStore.hold(verifyPath(ledger));
}

/** Compares both sides: what has changed since the last clean comparison, all there is, or what has differed before. */
export async function prove(
  { spec, connections, clock, random, log, say = () => {} }: RunParts,
  {
    deadlineMs,
    signal,
    scope,
    onProgress = () => {},
    lock,
  }: {
    readonly deadlineMs: number;
    readonly lock?: MoverLock | undefined;
    readonly scope: CompareScope;
    readonly signal: AbortSignal;
    readonly onProgress?: (progress: Progress) => void;
  },
): Promise<ComparisonResult> {
  const parts = { spec, connections, clock, random, log, signal, deadlineMs, onProgress };
  say('comparing both sides');
  const again = scope === 'what differed';
  const level = scope === 'changes' ? 'changes' : 'digest';
  const held = lock === undefined ? {} : { lock };
  const verdict = await verify({ ...parts, ...held, level, fresh: !again, again, newest: true });
  const { equal, differences, inFlight } = verdict;
  const { extra, ...others } = differences;
  const suspects = suspectsOf(spec, verdict, lock);
  const hasOthers = inFlight > 0 || Object.values(others).some((documents) => documents > 0);
  const areExtra = suspects.length === extra && !hasOthers;
  const isWhole = verdict.details.extent === 'all';
  return { equal, why: whyOf(verdict), suspects, areExtra, isWhole };
}

/** Those that the last comparison has confirmed to differ. */
export function suspectsOf(
  spec: MigrationSpec,
  { equal }: Pick<Verdict, 'equal'>,
  lock?: MoverLock,
): readonly Suspect[] {
  if (equal !== false) return [];
  using store = VerifyStore.open(verifyPath(spec.ledger), lock);
  const found: Suspect[] = [];
  for (let after: Buffer = Buffer.alloc(0); found.length < SUSPECTS_MAX;) {
    const some = store.candidates.list({ state: 'confirmed', after, limit: 1000 });
    const last = some.at(-1);
    if (last === undefined) break;
    found.push(...some.map(suspectOf));
    after = last.identity;
  }
  return found;
}

/** Whether the last comparison began after a repair. */
export function isAfterRepair({ ledger }: MigrationSpec): boolean {
  using store = VerifyStore.open(verifyPath(ledger));
  return store.begun()?.isAfterRepair === true;
}

function suspectOf({ name: { id, sourceKey, targetKeys } }: Candidate): Suspect {
  return { name: [id, ...sourceKey], seenAt: targetKeys.map(keyOf) };
}

/** In a refusal there is room for a few. */
const NAMED_MAX = 3;

function whyOf({ equal, differences, inFlight, waitsFor, samples }: Verdict): string {
  if (equal === true) return 'both sides are equal';
  if (equal === false) {
    const named = samples
      .slice(0, NAMED_MAX)
      .map(
        ({ kind, id, sourceKey }) =>
          `${KIND_WORDS[kind]} ${JSON.stringify(id)} of ${JSON.stringify(sourceKey)}`,
      );
    return [kindsText(differences), ...named].join(', ');
  }
  return `${counted(inFlight, 'document')} may be in flight${waitsFor === null ? '' : `: ${waitsFor}`}`;
}
