/**
 * The positions that the last clean comparison reached on both sides. A comparison that starts from these positions
 * reads only later changes. Invariant: the positions are used only for the same spec and the same containers.
 */
import type { StartedAt } from '../cosmos/feed/fenced-pass.ts';
import type { Proof } from './proof-record.ts';
import type { Subject } from './store.ts';
import { memberOf } from '../lib/json/json.ts';

export interface ResumePoints {
  readonly atMs: number;
  /** How long the last comparison of all documents needed to read both sides; null: not known. */
  readonly readMs: number | null;
  /** Whether the documents that have not changed since were compared with the properties that feeds hide. */
  readonly knowsHidden: boolean;
  readonly source: readonly StartedAt[];
  readonly target: readonly StartedAt[];
}

/** Returns the positions in the last proof; null: there is no proof of this spec and these containers. */
export function resumePoints(proof: Proof | null, subject: Subject): ResumePoints | null {
  if (proof === null || proof.fingerprint !== subject.fingerprint) return null;
  const details: unknown = JSON.parse(proof.details);
  const containers = memberOf(details, 'containers');
  if (
    memberOf(containers, 'source') !== subject.sourceRid ||
    memberOf(containers, 'target') !== subject.targetRid ||
    memberOf(details, 'targetTtl') !== subject.targetTtl
  )
    return null;
  const ranges = memberOf(details, 'ranges');
  const source = startsIn(memberOf(ranges, 'source'));
  const target = startsIn(memberOf(ranges, 'target'));
  const readMs = memberOf(details, 'readMs');
  if (source === null || target === null) return null;
  return {
    atMs: proof.atMs,
    readMs: typeof readMs === 'number' ? readMs : null,
    knowsHidden: memberOf(details, 'knowsHidden') === true,
    source,
    target,
  };
}

function startsIn(ranges: unknown): StartedAt[] | null {
  if (!Array.isArray(ranges) || ranges.length === 0) return null;
  const starts: StartedAt[] = [];
  for (const range of ranges as readonly unknown[]) {
    const [min, max, position] = ['min', 'max', 'position'].map((name) => memberOf(range, name));
    if (typeof min !== 'string' || typeof max !== 'string') return null;
    if (typeof position !== 'string' && position !== null) return null;
    starts.push({ min, max, position });
  }
  return starts;
}
