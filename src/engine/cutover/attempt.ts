/**
 * One attempt to commit, from stopping the writers to the commit or the back-out. Records the current step and what
 * is still missing, so that the message about a missed deadline can give the reason.
 */
import { NotReadyError } from '../../lib/errors.ts';
import { formatCount, pluralize } from '../../lib/counting.ts';
import type { ProofBasis, Repaired } from '../../state/journal.ts';
import type { Suspect } from '../letters/repair.ts';
import type { RunContext } from '../context.ts';
import type { LeasesParts } from '../leases/run-leases.ts';
import type { AnchoredRange } from '../../state/turns/next-turn.ts';
import type { CutoverOptions, Step } from './contract.ts';
import type { ComparedUpTo } from './target-ends.ts';
import type { KeptSource } from '../turn/next-turn.ts';
import { formatSeconds } from './wording.ts';

/** How many ids of repaired documents are recorded, and how many a message has. */
const [IDS_MAX, SAID_MAX] = [20, 5];

/** Returns the first ids, and how many more there are. */
function listed(ids: readonly string[]): string {
  const more = ids.length - SAID_MAX;
  return ids.slice(0, SAID_MAX).join(', ') + (more > 0 ? ` and ${formatCount(more)} more` : '');
}

export class Attempt {
  readonly options: CutoverOptions;
  /** The leases of the run. Their `reading` signal is aborted at the deadline. */
  readonly leases: LeasesParts;
  readonly stoppedAtMs: number;
  /** Resolves when the hook that stops the writers has ended, whether it succeeded or failed. */
  stopping: Promise<unknown> = Promise.resolve();
  haveStopped = false;
  /** The last write seen after the fence, in words; null if the last reading of the ends showed no write. */
  stillWritten: string | null = null;
  /** Why the last comparison did not show that both sides are equal; null if it did, or if there was none. */
  unproven: string | null = null;
  /** What was compared when both sides were found equal; null before that, or if it is not known. */
  basis: ProofBasis | null = null;
  /** Up to where the last comparison has looked at the target; null: not known. */
  targetUpTo: ComparedUpTo | null = null;
  /** The anchors of the target, taken before the last look at it; empty: none were wanted. */
  anchors: readonly AnchoredRange[] = [];
  /** Whether the target was written to after both sides were found equal. */
  isTargetWritten = false;
  /** The names of the documents that were repaired since `prove` was last called, as JSON texts. */
  readonly repaired = new Set<string>();
  /** All documents that were repaired in this attempt: their names, and their ids as JSON texts. */
  readonly #repairs = new Map<string, string>();
  /** Those of them that differed only after both sides had been found equal. */
  readonly #byOthers = new Map<string, string>();
  #step: Step['name'] = 'stopping writers';

  /** How the source is kept after the commit; null: there is no way back. */
  readonly kept: KeptSource | null;

  constructor(leases: LeasesParts, options: CutoverOptions, kept: KeptSource | null) {
    this.leases = leases;
    this.options = options;
    this.kept = kept;
    this.stoppedAtMs = leases.context.clock.monotonicMs();
  }

  get context(): RunContext {
    return this.leases.context;
  }

  get reading(): AbortSignal {
    return this.leases.reading;
  }

  begin(step: Step['name']): void {
    this.#step = step;
    this.options.onStep?.({ name: step, stoppedAtMs: this.stoppedAtMs });
  }

  /** Reports documents that are about to be repaired, and records them for the result. */
  noteRepairs(suspects: readonly Suspect[]): void {
    const ids: string[] = [];
    for (const { name } of suspects) {
      const id = name[0] ?? '""';
      ids.push(id);
      this.#repairs.set(JSON.stringify(name), id);
      if (this.isTargetWritten) this.#byOthers.set(JSON.stringify(name), id);
    }
    const [documents, pronoun] = [pluralize(ids.length, 'document'), ids.length === 1 ? 'it' : 'them'];
    const named = listed(ids);
    this.options.say(
      this.isTargetWritten
        ? `another process has changed ${documents} in the target after the comparison (${named}); repairing ${pronoun}`
        : `repairing ${documents} that ${ids.length === 1 ? 'differs' : 'differ'}: ${named}`,
    );
  }

  /** What was repaired in this attempt. */
  get repairs(): Repaired {
    const all = new Map([...this.#byOthers, ...this.#repairs]);
    const ids = [...all.values()].slice(0, IDS_MAX);
    return { documents: all.size, byOthers: this.#byOthers.size, ids };
  }

  tooLate(): NotReadyError {
    const { why, next } = this.#whatIsMissing();
    const { waitsFor } = this.leases.reporter;
    const waiting = waitsFor === null || !this.haveStopped ? '' : ` (${waitsFor})`;
    // With --on-abort, that command lets the writers resume; if it fails, a message of its own says so.
    const { onAbort } = this.options;
    const before = onAbort === null ? 'let the application write to the source again; ' : '';
    return new NotReadyError('the cutover did not finish in time', {
      why: `--deadline is ${formatSeconds(this.options.deadlineMs)}, and ${why}${waiting}; the source stays in use`,
      hint: `${before}before the next try ${next}`,
    });
  }

  #whatIsMissing(): { readonly why: string; readonly next: string } {
    if (!this.haveStopped)
      return {
        why: 'the command of --on-fence had not ended',
        next: 'find out why it takes so long, or set a longer --deadline',
      };
    if (this.stillWritten !== null)
      return {
        why: `writes were still arriving: ${this.stillWritten}`,
        next: 'make sure that all writers are stopped',
      };
    if (this.isTargetWritten)
      return {
        why: 'another process kept writing in the target',
        next: 'find out what writes there, and stop it',
      };
    if (this.unproven === null && (this.#step === 'draining' || this.#step === 'watching the fence'))
      return {
        why: this.#step === 'draining' ? 'it was still catching up' : 'it was still waiting for quiet',
        next: 'check that both accounts respond normally, or set a longer --deadline',
      };
    return {
      why: this.unproven ?? 'both sides were still being compared',
      next: 'run cosmig verify, so that less has to be compared, or set a longer --deadline',
    };
  }
}
