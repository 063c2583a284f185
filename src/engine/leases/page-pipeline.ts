/**
 * The pages of one lease that are in flight. Pages are read before older pages are committed, so that the other ranges
 * of the target stay busy while one of them is slow. Invariant: pages are committed in the order in which they were
 * read, so the lease's position moves past a page only when every older page of the lease is committed.
 *
 *   launch -> INTENT -> every document has its outcome -> all older pages committed -> COMMIT
 */
import type { FeedPage } from '../../cosmos/feed/feed.ts';
import { orAborted } from '../../lib/abort.ts';
import { deferred } from '../../lib/deferred.ts';
import type { FeedName } from '../../state/rows.ts';
import type { RunContext } from '../context.ts';
import type { CopiedPage } from '../copy/copied-page.ts';
import { CopyPage } from '../copy/copy-page.ts';
import type { CopyReader } from '../copy/copy-reader.ts';
import type { RangeProgress } from '../progress/snapshot.ts';
import { beginChanges } from '../tail/change-page.ts';
import type { Changes } from '../tail/change-reader.ts';
import { Renames } from '../tail/renames.ts';
import { UnitOfWork } from '../unit/unit-of-work.ts';
import type { PageBudget } from './page-budget.ts';

/**
 * How many pages of one lease may be in flight. A page whose write got no reply waits for the request timeout, and
 * later pages cannot be committed before it. During this time the later pages keep the target busy. They have to be
 * many, because pages are small if the target is slow.
 */
const PAGES_MAX = 32;

/** A page, and what was taken out of it: documents to create, or changes. A 304 has neither. */
export interface ParsedPage {
  readonly page: FeedPage;
  /** Documents to create. If they use the bytes of `page`, they do so until the commit; otherwise these are free already. */
  readonly copied?: CopiedPage;
  readonly changes?: Changes;
}

/**
 * How many outcomes the unit of a page has: one for each change of the tail, or one for each document of the copy. The
 * reader of the copy has already left out deleted documents that the ledger does not know.
 */
export function outcomesOf({ copied, changes }: ParsedPage): number {
  return copied === undefined ? (changes?.changes.length ?? 0) : copied.count + copied.others.length;
}

/** Stands for the changes of a 304, which has none. A 304 still gets a unit if its position is new. */
const NO_CHANGES = { changes: [], longIntegers: 0 };

interface PipelineParts {
  readonly context: RunContext;
  /** The number of the lease. */
  readonly lease: number;
  /**
   * If a document is replaced after this LSN, the copy or the tail has already seen it, unless its id is new
   * (renames.ts).
   */
  readonly copiedLsn: number;
  readonly feed: FeedName;
  readonly copies: CopyReader;
  readonly budget: PageBudget;
  readonly progress: RangeProgress;
}

export class PagePipeline {
  readonly #parts: PipelineParts;
  readonly #renames: Renames;
  /** The commits of the pages in flight, oldest first. */
  #commits: Promise<void>[] = [];
  /** The position from which the next page is read. The position in the ledger is that of the last commit. */
  position: string | null;

  constructor(parts: PipelineParts, position: string | null) {
    this.#parts = parts;
    this.#renames = new Renames(parts.context.pending, parts.copiedLsn);
    this.position = position;
  }

  get isEmpty(): boolean {
    return this.#commits.length === 0;
  }

  /** Waits until another page may be launched. */
  async whenFree(signal: AbortSignal): Promise<void> {
    while (this.#commits.length >= PAGES_MAX) await orAborted(this.#commits[0] ?? Promise.resolve(), signal);
  }

  /** Waits until every page is committed. Then the position in the ledger is the newest. */
  async whenEmpty(signal: AbortSignal): Promise<void> {
    await orAborted(this.#commits.at(-1) ?? Promise.resolve(), signal);
  }

  /** Starts the work on a page. Its commit waits for the commits of all older pages. */
  launch(parsed: ParsedPage): void {
    const { page, copied, changes } = parsed;
    // Changes have memory of their own, so the bytes of the page can be freed.
    if (copied === undefined) page.free();
    const isWhole = copied?.beyond !== true && changes?.beyond !== true;
    const { etag } = page.position;
    const documents = copied?.documents ?? changes?.changes.length ?? 0;
    // A page without documents and without a new position needs no commit.
    if (documents === 0 && (!isWhole || etag === this.position)) return this.#forget(parsed);
    if (isWhole) this.position = etag;
    const previous = this.#commits.at(-1) ?? Promise.resolve();
    // The unit gets its number here, in the order of reading, because COMMIT checks this order.
    const unit = new UnitOfWork(this.#parts.context, this.#parts);
    const hasRenamed = this.#renames.see(changes?.changes ?? []);
    // If a document was renamed, or if a delete does not name its document, only a comparison of both sides finds the
    // old copy.
    const misses = hasRenamed || (changes?.unnamed ?? 0) > 0;
    const committed = deferred();
    this.#commits.push(committed.promise);
    this.#parts.context.tasks.start(async () => {
      using _page = this.#parts.context.pages.begin(page.bytes.length);
      await this.#process(parsed, {
        unit,
        previous,
        documents,
        misses,
        position: isWhole ? etag : null,
      });
      this.#renames.forget(changes?.changes ?? []);
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
      misses,
      position,
    }: {
      readonly unit: UnitOfWork;
      readonly previous: Promise<void>;
      readonly documents: number;
      readonly misses: boolean;
      readonly position: string | null;
    },
  ): Promise<void> {
    const { context, lease, feed, progress } = this.#parts;
    if (copied !== undefined) await new CopyPage({ context, unit, copied }).begin();
    else await beginChanges({ context, unit, ...(changes ?? NO_CHANGES) });
    await unit.whenDone();
    await orAborted(previous, context.signal);
    context.points.reach('outcomes-known');
    unit.commit({ lease, feed, position, documents, misses });
    progress.documents += documents;
    if (changes?.lastTs !== undefined && changes.lastTs !== null) progress.lastTs = changes.lastTs;
  }

  #forget({ page, copied }: ParsedPage): void {
    const { budget, copies } = this.#parts;
    budget.adjust(-page.bytes.length);
    if (copied === undefined) return;
    if (copied.usesPage) page.free();
    copies.giveBack(copied);
  }
}
