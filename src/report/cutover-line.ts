/** The live line of a cutover: its current step, the progress of the comparison, and how long writers have been stopped. */
import type { Step } from '../engine/cutover/contract.ts';
import type { RunSnapshot } from '../engine/progress/snapshot.ts';
import type { Clock } from '../lib/clock.ts';
import { formatCount } from '../lib/counting.ts';
import type { VerifyProgress } from '../verify/verify.ts';
import type { CutoverWatcher } from '../workflows/cutover.ts';
import { formatPercent } from './format.ts';
import { fit, type LinePart, type Rates } from './live-line.ts';
import type { LiveView } from './runs/run-engine.ts';

/** The words for each step, the same as in docs/operations. */
const WORDS: Readonly<Record<Step['name'], string>> = {
  'catching up': 'catching up',
  'stopping writers': 'running --on-fence',
  draining: 'catching up',
  'watching the fence': 'waiting for quiet',
  comparing: 'comparing',
  repairing: 'repairing',
  'resuming writers': 'backed out, running --on-abort',
  'after the commit': 'committed, checking settings',
  'watching for late writes': 'watching for late writes',
};

/** The values of `step` in a progress object. */
export const CUTOVER_STEPS = Object.keys(WORDS) as readonly Step['name'][];

export class CutoverLine implements CutoverWatcher, LiveView {
  readonly #clock: Clock;
  readonly #deadlineMs: number;
  readonly #watchMs: number;
  #step: Step = { name: 'catching up', stoppedAtMs: null };
  #beganMs: number;
  #proof: VerifyProgress | null = null;
  #isSwitching = false;

  constructor(clock: Clock, times: { readonly deadlineMs: number; readonly watchMs: number }) {
    this.#clock = clock;
    this.#deadlineMs = times.deadlineMs;
    this.#watchMs = times.watchMs;
    this.#beganMs = clock.monotonicMs();
  }

  onStep(step: Step): void {
    this.#step = step;
    this.#beganMs = this.#clock.monotonicMs();
    this.#proof = null;
  }

  onProof(proof: VerifyProgress): void {
    this.#proof = proof;
  }

  /** Shows, while `hook` runs, that it is the command of --on-commit that takes its time. */
  async duringHook(hook: () => Promise<void>): Promise<void> {
    this.#isSwitching = true;
    this.#beganMs = this.#clock.monotonicMs();
    try {
      await hook();
    } finally {
      this.#isSwitching = false;
      this.#beganMs = this.#clock.monotonicMs();
    }
  }

  line(snapshot: RunSnapshot, rates: Rates, columns: number): string {
    const { name, stoppedAtMs } = this.#step;
    const words = this.#isSwitching ? 'committed, running --on-commit' : WORDS[name];
    const parts: LinePart[] = [{ text: words.padEnd(18), rank: 0 }];
    if (this.#proof !== null) parts.push(...proofParts(this.#proof));
    else if (name === 'catching up' || name === 'draining') parts.push(...tailParts(snapshot, rates));
    if (stoppedAtMs !== null) {
      const stopped = seconds(this.#clock.monotonicMs() - stoppedAtMs);
      parts.push({ text: `writers stopped ${stopped} of at most ${seconds(this.#deadlineMs)}`, rank: 1 });
    }
    const inStep = seconds(this.#clock.monotonicMs() - this.#beganMs);
    if (name === 'after the commit' || name === 'resuming writers')
      parts.push({ text: `for ${inStep}`, rank: 1 });
    if (name === 'watching for late writes')
      parts.push({ text: `${inStep} of ${seconds(this.#watchMs)}`, rank: 1 });
    if (snapshot.waitsFor !== null) parts.push({ text: `waits: ${snapshot.waitsFor}`, rank: 2 });
    return fit(parts, columns);
  }

  /** Returns what a cutover adds to the progress object of a run. */
  picture() {
    const { name, stoppedAtMs } = this.#step;
    const stoppedMs = stoppedAtMs === null ? null : this.#clock.monotonicMs() - stoppedAtMs;
    return { step: name, stoppedMs, deadlineMs: this.#deadlineMs, proof: this.#proof };
  }
}

function proofParts({ stage, source, target, open, expected }: VerifyProgress): LinePart[] {
  if (stage === 'rechecking') return [{ text: `${wide(open)} documents to recheck`, rank: 2 }];
  // Shown only above 1 %: a cutover usually compares only what has changed, and that share of all documents would
  // stay at 0%.
  const share =
    expected !== null && source > expected / 100 ? `${formatPercent(source, expected).padStart(3)}  ` : '';
  return [
    { text: `${share}${wide(source)} source`, rank: 3 },
    { text: `${wide(target)} target`, rank: 4 },
  ];
}

function tailParts({ documents, lagSeconds }: RunSnapshot, rates: Rates): LinePart[] {
  const rate = rates.documents === null ? '-' : formatCount(Math.round(rates.documents));
  const parts: LinePart[] = [
    { text: `${wide(documents.read)} docs`, rank: 4 },
    { text: `${rate.padStart(6)}/s`, rank: 5 },
  ];
  if (lagSeconds !== null) parts.push({ text: `lag ${formatCount(Math.round(lagSeconds))} s`, rank: 3 });
  return parts;
}

function wide(value: number): string {
  return formatCount(value).padStart(9);
}

function seconds(ms: number): string {
  return `${formatCount(Math.max(0, Math.floor(ms / 1000)))} s`;
}
