/**
 * The life of one lease.
 *
 *   copy   -> LV from the beginning up to the anchor; then the range is copied, and its tail may begin
 *   tail   -> AVAD from where it was primed, or LV from where the copy ended, until the goal of the run is reached
 *   recopy -> the source has forgotten changes that were not read: LV again, up to a new anchor; then the tail
 *
 * After a split or a merge the lease is replaced by its children, which continue at its position. Invariant: a lease
 * changes its phase, its anchor or its children only while none of its pages is in flight.
 */
import { remap } from '../../cosmos/feed/ranges.ts';
import { lsnOf } from '../../cosmos/feed/session-tokens.ts';
import { tokenOf } from '../../cosmos/side.ts';
import { must } from '../../lib/assert.ts';
import type { Lease } from '../../state/leases.ts';
import type { RunContext } from '../context.ts';
import type { RangeProgress } from '../progress/snapshot.ts';
import { anchorAgain } from './anchor.ts';
import { LeaseReader, type FeedPass, type PassEnd } from './lease-reader.ts';
import type { LeaseRuns } from './run-leases.ts';

export class LeaseRun {
  readonly #context: RunContext;
  readonly #runs: LeaseRuns;
  readonly #progress: RangeProgress;
  #lease: Lease;

  constructor(context: RunContext, runs: LeaseRuns, lease: Lease) {
    this.#context = context;
    this.#runs = runs;
    this.#lease = lease;
    this.#progress = runs.reporter.rangeOf(lease);
  }

  /** Runs the lease until the goal of the run is reached, the lease is replaced, or the run stops. */
  async run(): Promise<void> {
    for (;;) {
      const { phase } = this.#lease;
      this.#progress.phase = phase;
      const end = await this.#readFeed(this.#passOf(phase));
      if (end === 're-anchored') continue;
      if (end !== 'anchor-reached') return;
      const copiedLsn = lsnOf(tokenOf(this.#context.sourceSide, this.#lease.rangeId)) ?? null;
      this.#lease = this.#context.ledger.leases.endCopy(this.#lease.number, copiedLsn);
      this.#progress.phase = 'tail';
      this.#context.points.reach('anchor-reached');
      // The tail needs an index over all copied documents, which is built when every range has reached its anchor.
      if (phase === 'copy') return;
      this.#runs.retryLetters();
    }
  }

  #passOf(phase: Lease['phase']): FeedPass {
    const { anchor } = this.#lease;
    const anchorLsn = must(anchor, 'a lease has its anchor').lsn;
    if (phase === 'copy') return { feed: 'LV', copies: true, anchorLsn };
    if (phase === 'recopy') return { feed: 'LV', copies: false, anchorLsn };
    return { feed: this.#context.deletes === 'avad' ? 'AVAD' : 'LV', copies: false, anchorLsn: null };
  }

  async #readFeed(pass: FeedPass): Promise<PassEnd | 're-anchored'> {
    const parts = { context: this.#context, runs: this.#runs, lease: this.#lease, progress: this.#progress };
    const reader = new LeaseReader(parts, pass);
    for (;;) {
      let end: PassEnd | 're-anchored' | 'again' = await reader.read();
      if (end === 'stopped') return end;
      this.#lease = this.#context.ledger.leases.get(this.#lease.number);
      while (end === 'forgotten') end = await this.#anchorAgain(reader);
      if (end === 'again') continue;
      if (end === 'split') this.#replace();
      return end;
    }
  }

  async #anchorAgain(reader: LeaseReader): Promise<PassEnd | 're-anchored' | 'again'> {
    const { log } = this.#context;
    log.warn('the source has forgotten changes that were not read; its documents are read again', {
      range: this.#lease.rangeId,
    });
    try {
      this.#lease = await anchorAgain(this.#context, this.#lease, this.#runs.reading);
      return 're-anchored';
    } catch (error) {
      return reader.endBy(error);
    }
  }

  #replace(): void {
    const children = replaceLease(this.#context, this.#lease);
    this.#progress.phase = 'replaced';
    for (const child of children) this.#runs.spawn(child);
  }
}

/** Replaces a lease whose range was split or merged. The children continue at its position. */
export function replaceLease({ ledger, sourceSide, points }: RunContext, lease: Lease): readonly Lease[] {
  const { number, indexId: _indexId, documents: _documents, ...inherited } = lease;
  const { readers } = remap(sourceSide.ranges.list, sourceSide.ranges.partOf(lease));
  const children = readers.map(({ range, min, max }) => ({ ...inherited, rangeId: range.id, min, max }));
  const replaced = ledger.leases.replace([number], children);
  points.reach('lease-replaced');
  return replaced;
}
