/** Detects new proofs, and that the last one is old. Invariant: an old proof is notified at doubling ages. */
import { formatCount } from '../../lib/counting.ts';
import { memberOf } from '../../lib/json/json.ts';
import { NO_DIFFERENCES } from '../../verify/verdict.ts';
import type { Proof } from '../../verify/proof-record.ts';
import { proofKey, type Happening } from './happening.ts';
import { PROOF_TEXTS } from './sentences.ts';

const HOUR_MS = 3_600_000;

export class ProofWatch {
  readonly #ageMaxMs: number;
  #atMs: number | null;
  #notified = -1;

  /** `last`: the proof of the past, which is not new. */
  constructor(last: Proof | null, ageMaxMs: number) {
    this.#atMs = last?.atMs ?? null;
    this.#ageMaxMs = ageMaxMs;
  }

  /** `isOfCutover`: whether a cutover compares, which notifies its proof as one of its steps. */
  look(
    proof: Proof | null,
    { openLetters, isOfCutover }: { readonly openLetters: number; readonly isOfCutover: boolean },
  ): Happening | null {
    if (proof === null || proof.atMs === this.#atMs) return null;
    this.#atMs = proof.atMs;
    this.#notified = -1;
    return isOfCutover ? null : proven(proof, openLetters);
  }

  lookAtAge({ atMs }: Proof, nowMs: number): Happening | null {
    const ageMs = nowMs - atMs;
    const step = Math.floor(Math.log2(ageMs / this.#ageMaxMs));
    if (ageMs < this.#ageMaxMs || step <= this.#notified) return null;
    this.#notified = step;
    const hours = Math.floor(ageMs / HOUR_MS);
    const age = hours > 0 ? `${formatCount(hours)} h` : `${Math.floor(ageMs / 60_000)} min`;
    return {
      event: 'proof-old',
      text: `source and target were last found equal ${age} ago; run cosmig verify`,
      key: `${proofKey(atMs)} old ${this.#ageMaxMs} ${step}`,
      proofAge: { proof: new Date(atMs).toISOString(), seconds: Math.round(ageMs / 1000) },
    };
  }
}

function proven({ atMs, details }: Proof, openLetters: number): Happening {
  const found: unknown = JSON.parse(details);
  const count = (side: string): number => Number(memberOf(memberOf(found, side), 'count') ?? 0);
  return {
    event: 'proof',
    text: PROOF_TEXTS.equal,
    key: proofKey(atMs),
    atMs,
    proof: {
      result: 'equal',
      level: 'digest',
      source: count('source'),
      target: count('target'),
      differences: NO_DIFFERENCES,
      inFlight: 0,
      openLetters,
    },
  };
}
