/** How a cutover goes, in one line: what it is at, how far the proof is, and for how long writers have been stopped. */
import type { Step } from '../engine/cutover/contract.ts';
import type { Snapshot } from '../engine/progress/snapshot.ts';
import type { Clock } from '../lib/clock.ts';
import type { Progress } from '../verify/verify.ts';
import { fit, percent, type Part, type Rates } from './live-line.ts';
import { count } from './format.ts';

/** As the docs tell it. */
const WORDS: Readonly<Record<Step['name'], string>> = {
  'catching up': 'catching up',
  'stopping writers': 'running --on-fence',
  draining: 'catching up',
  'watching the fence': 'waiting for quiet',
  comparing: 'comparing',
  repairing: 'repairing',
  'resuming writers': 'backed out, running --on-abort',
  'after the commit': 'settings, then --on-commit',
  'watching for late writes': 'watching for late writes',
};

/** What is known of a cutover besides the picture of its run. */
export class CutoverLine {
  readonly #clock: Clock;
  readonly #deadlineMs: number;
  readonly #watchMs: number;
  #step: Step = { name: 'catching up', stoppedAtMs: null };
  #beganMs: number;
  #proof: Progress | null = null;

  constructor(clock: Clock, times: { readonly deadlineMs: number; readonly watchMs: number }) {
    this.#clock = clock;
    this.#deadlineMs = times.deadlineMs;
    this.#watchMs = times.watchMs;
    this.#beganMs = clock.now();
  }

  see(step: Step): void {
    this.#step = step;
    this.#beganMs = this.#clock.now();
    this.#proof = null;
  }

  seeProof(proof: Progress): void {
    this.#proof = proof;
  }

  tell(snapshot: Snapshot, rates: Rates, columns: number): string {
    const { name, stoppedAtMs } = this.#step;
    const parts: Part[] = [{ text: WORDS[name].padEnd(18), rank: 0 }];
    if (this.#proof !== null) parts.push(...proofParts(this.#proof));
    else if (name === 'catching up' || name === 'draining') parts.push(...tailParts(snapshot, rates));
    if (stoppedAtMs !== null) {
      const stopped = seconds(this.#clock.now() - stoppedAtMs);
      parts.push({ text: `writers stopped ${stopped} of ${seconds(this.#deadlineMs)}`, rank: 1 });
    }
    const sinceBegun = seconds(this.#clock.now() - this.#beganMs);
    if (name === 'after the commit' || name === 'resuming writers')
      parts.push({ text: `for ${sinceBegun}`, rank: 1 });
    if (name === 'watching for late writes')
      parts.push({ text: `${sinceBegun} of ${seconds(this.#watchMs)}`, rank: 1 });
    if (snapshot.waitsFor !== null) parts.push({ text: `waits: ${snapshot.waitsFor}`, rank: 2 });
    return fit(parts, columns);
  }

  /** For who parses. */
  picture(): Readonly<Record<string, unknown>> {
    const { name, stoppedAtMs } = this.#step;
    const stoppedMs = stoppedAtMs === null ? null : this.#clock.now() - stoppedAtMs;
    return { step: name, stoppedMs, deadlineMs: this.#deadlineMs, proof: this.#proof };
  }
}

function proofParts({ stage, source, target, open, expected }: Progress): Part[] {
  if (stage === 'looking again') return [{ text: `${wide(open)} documents to look at again`, rank: 2 }];
  // Only what has changed is read: of all there are, that is hardly anything.
  const share = expected !== null && source > expected / 100 ? `${percent(source, expected)}  ` : '';
  return [
    { text: `${share}${wide(source)} source`, rank: 3 },
    { text: `${wide(target)} target`, rank: 4 },
  ];
}

function tailParts({ documents, lagSeconds }: Snapshot, rates: Rates): Part[] {
  const parts: Part[] = [
    { text: `${wide(documents.read)} docs`, rank: 4 },
    {
      text: `${rates.documents === null ? '-'.padStart(6) : count(Math.round(rates.documents)).padStart(6)}/s`,
      rank: 5,
    },
  ];
  if (lagSeconds !== null) parts.push({ text: `lag ${count(Math.round(lagSeconds))} s`, rank: 3 });
  return parts;
}

function wide(value: number): string {
  return count(value).padStart(9);
}

function seconds(ms: number): string {
  return `${count(Math.max(0, Math.floor(ms / 1000)))} s`;
}
