/** A question to the service. cosmig relies on the answer, and the developers could not confirm it on a live account. */
import type { ScratchContainers } from './scratch.ts';

export interface Probe {
  /** Never changes, because published reports contain it. */
  readonly id: string;
  /** The fact in docs/internals that is asked about. */
  readonly fact: string;
  /** What cosmig relies on, as a sentence. */
  readonly claim: string;
  /** What changes for the user where the service differs. */
  readonly otherwise: string;
  /** Whether the probe waits for seconds. Such probes are asked at the same time. */
  readonly waits?: true;
  readonly ask: (scratch: ScratchContainers) => Promise<Answer>;
}

/** What the service was seen to do; or why it could not be asked. */
export type Answer = { readonly holds: boolean; readonly seen: string } | { readonly notAsked: string };

/** The answer to one probe, as it is reported. */
export interface ProbeResult {
  readonly id: string;
  readonly fact: string;
  readonly claim: string;
  readonly state: 'holds' | 'differs' | 'not asked';
  /** What the service was seen to do; null if it was not asked. */
  readonly seen: string | null;
  /** What changes for the user, or why the question was not asked; null if the claim holds. */
  readonly note: string | null;
}

export function resultOf({ id, fact, claim, otherwise }: Probe, answer: Answer): ProbeResult {
  const asked = { id, fact, claim };
  if ('notAsked' in answer) return { ...asked, state: 'not asked', seen: null, note: answer.notAsked };
  const { holds, seen } = answer;
  return { ...asked, state: holds ? 'holds' : 'differs', seen, note: holds ? null : otherwise };
}
