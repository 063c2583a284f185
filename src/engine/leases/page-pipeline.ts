/**
 * Pages of one lease in flight. They are read ahead of their commits, so that a slow range of the target does not keep the
 * others from being fed. Invariant: pages are committed in the order in which they were read, so the lease's position
 * moves past a page only when every older page of the lease is committed.
 *
 *   launch -> INTENT -> every document has its outcome -> all older pages committed -> COMMIT
 */
import type { FeedPage } from '../../cosmos/feed/feed.ts';
import { orAborted } from '../../lib/abort.ts';
import { deferred } from '../../lib/deferred.ts';
import type { FeedName } from '../../state/rows.ts';
import type { RunContext } from '../context.ts';
import { CopyPage } from '../copy/copy-page.ts';
import type { CopyReader } from '../copy/copy-reader.ts';
import type { FlatPage } from '../copy/flat-page.ts';
import type { RangeProgress } from '../progress/snapshot.ts';
import { beginChanges } from '../tail/change-page.ts';
import type { Changes } from '../tail/change-reader.ts';
import { UnitOfWork } from '../unit/unit-of-work.ts';
import type { PageBudget } from './page-budget.ts';

/** Pages of one lease in flight: enough to keep every range of the target busy, few to repeat after a crash. */
const PAGES_MAX = 8;

/** A page, and what was taken out of it: documents to create, or changes; nothing from a 304. */
export interface ParsedPage {
  readonly page: FeedPage;
  /** It needs the bytes of its page until it is committed. */
  readonly copied?: FlatPage;
  readonly changes?: Changes;
}

interface PipelineParts {
  readonly context: RunContext;
  /** Its number. */
  readonly lease: number;
  readonly feed: FeedName;
  readonly copies: CopyReader;
  readonly budget: PageBudget;
  readonly progress: RangeProgress;
}

export class PagePipeline {
  readonly #parts: PipelineParts;
  /** Commits to come, oldest first. */
  #commits: Promise<void>[] = [];
  /** Where the next page is read; the ledger knows how far the commits have come. */
  position: string | null;

  constructor(parts: PipelineParts, position: string | null) {
    this.#parts = parts;
    this.position = position;
  }

  get isEmpty(): boolean {
    return this.#commits.length === 0;
  }

  /** Resolves when another page may be launched. */
  async whenFree(signal: AbortSignal): Promise<void> {
    while (this.#commits.length >= PAGES_MAX) await orAborted(this.#commits[0] ?? Promise.resolve(), signal);
  }

  /** Resolves when every page is committed: then the ledger knows the position. */
  async whenEmpty(signal: AbortSignal): Promise<void> {
    await orAborted(this.#commits.at(-1) ?? Promise.resolve(), signal);
  }

  /** Starts a page; its commit waits for those before it. */
  launch(parsed: ParsedPage): void {
    const { page, copied, changes } = parsed;
    // Changes have memory of their own.
    if (copied === undefined) page.free();
    const isWhole = copied?.beyond !== true && changes?.beyond !== true;
    const { etag } = page.position;
    const documents = copied?.documents ?? changes?.changes.length ?? 0;
    // A 304 that brings no new position.
    if (documents === 0 && (!isWhole || etag === this.position)) return this.#forget(parsed);
    if (isWhole) this.position = etag;
    const previous = this.#commits.at(-1) ?? Promise.resolve();
    // Numbered here, in the order of reading: COMMIT checks that order.
    const unit = new UnitOfWork(this.#parts.context, this.#parts);
    const committed = deferred();
    this.#commits.push(committed.promise);
    this.#parts.context.tasks.start(async () => {
      await this.#process(parsed, { unit, previous, documents, position: isWhole ? etag : null });
      this.#commits = this.#commits.filter((other) => other !== committed.promise);
      this.#forget(parsed);
      committed.resolve();
    });
  }

  async #process(
    { copied, changes }: ParsedPage,
    {
      unit,
      previous,
      documents,
      position,
    }: {
      readonly unit: UnitOfWork;
      readonly previous: Promise<void>;
      readonly documents: number;
      readonly position: string | null;
    },
  ): Promise<void> {
    const { context, lease, feed, progress } = this.#parts;
    if (copied !== undefined) await new CopyPage({ context, unit, copied }).begin();
    else await beginChanges({ context, unit, changes: changes?.changes ?? [] });
    await unit.whenDone();
    await orAborted(previous, context.signal);
    context.points.reach('outcomes-known');
    if ((changes?.unnamed ?? 0) > 0) this.#noteLostDelete();
    unit.commit({ lease, feed, position, documents });
    progress.documents += documents;
    if (changes?.lastTs !== undefined && changes.lastTs !== null) progress.lastTs = changes.lastTs;
  }

  /** A document was deleted and its id is unknown: only a comparison of both sides finds it. */
  #noteLostDelete(): void {
    const { context, lease } = this.#parts;
    const { leases } = context.ledger;
    if (!leases.get(lease).sweepPending) leases.change(lease, { sweepPending: true });
  }

  #forget({ page, copied }: ParsedPage): void {
    const { budget, copies } = this.#parts;
    budget.adjust(-page.bytes.length);
    if (copied === undefined) return;
    page.free();
    copies.giveBack(copied);
  }
}
