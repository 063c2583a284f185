/** The steps of a cutover as notifications, from the entries of its journal. */
import { pluralize } from '../../lib/counting.ts';
import { redactText } from '../../lib/log.ts';
import type { CutoverStep, Notification } from '../../report/json/notification.ts';
import type { JournalEntry } from '../../state/journal.ts';
import { entryKey, type Happening } from './happening.ts';

type Details = Omit<NonNullable<Notification['cutover']>, 'step'>;

export class CutoverStory {
  /** When the writers were stopped; null: not yet. */
  writersStoppedAtMs: number | null = null;
  readonly #notify: (happening: Happening) => void;
  /** The entry of the stop that has begun; null: none has. */
  #stopping: JournalEntry | null = null;
  /** The entry of the last stop of which the end was notified. */
  #stopped: JournalEntry | null = null;
  #lateWrites = 0;
  #lateWritesNotified = 0;

  constructor(notify: (happening: Happening) => void) {
    this.#notify = notify;
  }

  /** Notifies an entry. Returns false if it does not belong to a cutover. */
  take(entry: JournalEntry): boolean {
    const { atMs } = entry;
    const step = (name: CutoverStep, text: string, details: Details = {}): true => {
      const phase = entry.event === 'phase' ? { phase: entry.phase } : {};
      const key = entryKey(entry, name);
      this.#notify({ event: 'cutover', text, cutover: { step: name, ...details }, key, atMs, ...phase });
      return true;
    };
    switch (entry.event) {
      case 'phase':
        return this.#takePhase(entry, step);
      case 'fence restarted':
        return step(
          'fence restarted',
          'the source was written to after the writers were stopped; waiting again',
        );
      case 'target settings applied':
        return step('settings applied', 'the settings of the target are applied');
      case 'application switched':
        return step('application switched', 'the application is pointed to the target');
      case 'late write':
        return this.#takeLateWrite(step);
      case 'late write watch ended': {
        const lateWrites = this.#lateWrites;
        return step('watch ended', `the watch for late writes has ended: ${lateText(lateWrites)}`, {
          lateWrites,
        });
      }
      case 'writers resumed':
        return step('writers resumed', 'the command of --on-abort has let the application write again');
      case 'adoption begun':
      case 'adoption compared':
      case 'ttl restored':
      case 'ttl paused':
      case 'written by others':
      case 'container recreated':
      case 'ranges unusable':
      case 'ranges usable':
      case 'ledger restored':
      case 'dead letters discarded':
        return false;
      default:
        return entry satisfies never;
    }
  }

  #takePhase(entry: JournalEntry & { readonly event: 'phase' }, step: NotifyStep): boolean {
    switch (entry.phase) {
      case 'ready':
        this.#stopping = null;
        return step('gate passed', 'the gate is passed: caught up, verified, no open dead letters');
      case 'fencing':
        return this.#takeFencing(entry, step);
      case 'drained':
        return step('drained', 'every write up to the stop of the writers is replicated');
      case 'proven':
        return step('proven', 'source and target are equal');
      case 'committed': {
        const stoppedSeconds = entry.stoppedMs / 1000;
        const repaired = entry.repaired?.documents ?? 0;
        const text = `committed: the target is in use; writers were stopped for ${stoppedSeconds.toFixed(1)} s`;
        return step('committed', text, { stoppedSeconds, repaired });
      }
      case 'tailing': {
        if (entry.why === null) return false;
        // The rest of the text may have ids.
        const reason = redactText(entry.why.split(': ', 1)[0] ?? '');
        this.writersStoppedAtMs = null;
        this.#stopping = null;
        return step('backed out', `backed out: ${reason}; the source stays in use`, { reason });
      }
      case 'new':
      case 'copying':
        return false;
      default:
        return entry satisfies never;
    }
  }

  /** Notifies that the writers are being stopped, and when they were. Entering the phase again is not a new stop. */
  #takeFencing(entry: JournalEntry, step: NotifyStep): true {
    if (this.#stopping !== null) return true;
    this.#stopping = entry;
    step('stopping writers', 'stopping the writers');
    this.lookAtWriters();
    return true;
  }

  /** Notifies that the writers are stopped, once, if they are. */
  lookAtWriters(): void {
    if (this.#stopping === this.#stopped || this.#stopping === null || this.writersStoppedAtMs === null)
      return;
    this.#stopped = this.#stopping;
    const atMs = this.writersStoppedAtMs;
    this.writersStoppedAtMs = null;
    this.#notify({
      event: 'cutover',
      text: 'the writers are stopped',
      cutover: { step: 'writers stopped' },
      key: entryKey(this.#stopping, 'writers stopped'),
      phase: 'fencing',
      atMs,
    });
  }

  #takeLateWrite(step: NotifyStep): true {
    this.#lateWrites += 1;
    if (this.#lateWrites < this.#lateWritesNotified * 2) return true;
    this.#lateWritesNotified = this.#lateWrites;
    return step('late writes', `${lateText(this.#lateWrites)}, not replicated; stop what writes there`, {
      lateWrites: this.#lateWrites,
    });
  }
}

type NotifyStep = (name: CutoverStep, text: string, details?: Details) => true;

function lateText(writes: number): string {
  if (writes === 0) return 'there were none';
  return `${pluralize(writes, 'write')} to the source after the commit`;
}
