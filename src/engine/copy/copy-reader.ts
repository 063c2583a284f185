/**
 * Takes the documents out of a page of the copy in one synchronous pass, because the scan of a page is valid only until
 * the next page is scanned. One reader serves all ranges. Invariant: every document up to the anchor is either created
 * by the page or is among its `others`, except deleted documents that the ledger does not know, and documents that the
 * map of the target has where they belong.
 */
import { packedMemory } from '../../documents/packing/packed-page.ts';
import { latestVersionScan, type PageScan } from '../../documents/page-scan.ts';
import { lsnMissing } from '../../documents/page-error.ts';
import { keyStart } from '../../documents/scalar.ts';
import { SegmentBuilder } from '../../state/segments/segment.ts';
import type { RunContext } from '../context.ts';
import { versionPaths, VersionReader } from '../tail/source-version.ts';
import { MAP_INDEX } from '../../state/segments/map-store.ts';
import { MappedDocuments } from '../map/mapped-documents.ts';
import { CopiedPage } from './copied-page.ts';
import { PlainRows } from './plain-rows.ts';
import type { RowFilter } from './row-filter.ts';

export interface PageOptions {
  /** The LSN of the anchor. Documents beyond it belong to the tail. */
  readonly anchorLsn: number;
  /** The service's time in seconds. */
  readonly nowTs: number;
  readonly indexId: number;
}

/** How many unused pages are kept for reuse. More pages are hardly ever in flight. */
const IDLE_MAX = 64;

/** The parts of a run that the reader uses. */
type ReaderContext = Pick<RunContext, 'plan' | 'versions' | 'packsPages'> & {
  readonly pending: Pick<RunContext['pending'], 'rowOf'> & { readonly filter: Pick<RowFilter, 'mayHave'> };
  readonly ledger: Pick<RunContext['ledger'], 'isIndexed'>;
  readonly targetSide: { readonly ranges: Pick<RunContext['targetSide']['ranges'], 'list' | 'indexOf'> };
};

export class CopyReader {
  readonly #context: ReaderContext;
  readonly #scan: PageScan;
  readonly #versions: VersionReader;
  readonly #segment = new SegmentBuilder();
  /** The nodes of the values that name a document. */
  readonly #names: readonly number[];
  /** Undefined if no row can be plain. */
  readonly #plain: PlainRows | undefined;
  readonly #idle: CopiedPage[] = [];
  readonly #memory = packedMemory();
  /** The map of a target that others have filled; undefined if this migration began with an empty target. */
  readonly #mapped: MappedDocuments | undefined;

  constructor(context: ReaderContext) {
    this.#context = context;
    this.#scan = latestVersionScan(versionPaths(context.versions));
    this.#versions = new VersionReader(this.#scan, context.versions);
    const { plan, versions } = context;
    const nodeAt = (path: readonly string[]): number => this.#scan.nodeAt(path);
    this.#names = [this.#scan.nodes.id, ...plan.sourcePaths.map(nodeAt)];
    this.#mapped = context.ledger.isIndexed(MAP_INDEX)
      ? new MappedDocuments(context, { scan: this.#scan, rekey: this.#versions.rekey })
      : undefined;
    // What the map of the target knows of a document is looked up for each one.
    this.#plain =
      this.#mapped === undefined && context.packsPages
        ? PlainRows.of(this.#scan, {
            rekey: this.#versions.rekey,
            ranges: context.targetSide.ranges,
            names: this.#names,
            inputs: plan.inputs.map(nodeAt),
            marker: versions.marker === null ? undefined : nodeAt(versions.marker),
          })
        : undefined;
  }

  /** Reads a page; throws a PageError if it is damaged. The bytes must stay unchanged until `giveBack` if it `usesPage`. */
  read(page: Buffer, { anchorLsn, nowTs, indexId }: PageOptions): CopiedPage {
    const scan = this.#scan.scan(page);
    const plain = this.#plain;
    plain?.look();
    const copied = this.#idle.pop() ?? new CopiedPage(this.#names.length, this.#memory);
    copied.begin(page, { rows: scan.count, indexId });
    this.#segment.begin(copied.flat.segments);
    const versions = this.#versions;
    for (let row = 0; row < scan.count; row += 1) {
      const lsn = plain?.lsn(row) ?? versions.lsn(row);
      if (lsn === null) throw lsnMissing();
      if (lsn > anchorLsn) {
        copied.beyond = true;
        continue;
      }
      copied.documents += 1;
      if (scan.hasLongInteger(row)) copied.longIntegers += 1;
      if (plain?.take(row) === true) continue;
      const moves = versions.rekey.read(row, nowTs) === 'moves' && !versions.isMarked(row);
      const mapped = moves ? (this.#mapped?.look(row) ?? 'unknown') : 'differs';
      if (mapped === 'unknown') this.#add(row, copied, lsn);
      else if (mapped === 'present') copied.present += 1;
      else this.#addOther(row, copied, nowTs);
    }
    plain?.pack(copied);
    copied.finish(this.#segment.finish());
    return copied;
  }

  /** Takes back a committed page; the next page uses its memory again. */
  giveBack(copied: CopiedPage): void {
    copied.end();
    if (this.#idle.length < IDLE_MAX) this.#idle.push(copied);
  }

  #add(row: number, copied: CopiedPage, lsn: number): void {
    const { rekey } = this.#versions;
    const scan = this.#scan;
    copied.flat.add(scan, row, rekey);
    const segment = this.#segment;
    segment.add({ hashes: rekey.hashes, targetKey: rekey.key, etag: null, lsn });
    const { etag } = scan.nodes;
    segment.etag(scan.page, scan.start(row, etag), scan.end(row, etag));
    for (const node of this.#names) segment.name(scan.page, keyStart(scan, row, node), scan.end(row, node));
  }

  /** Adds a document that is refused or deleted. Skips a deleted document that has no row in the ledger. */
  #addOther(row: number, { others, indexId }: CopiedPage, nowTs: number): void {
    const { identity, version, lsn } = this.#versions.read(row, nowTs);
    const mayHaveRow = this.#context.pending.filter.mayHave(this.#versions.rekey.hashes, 0);
    if (version !== 'gone' || mayHaveRow || this.#mapped?.has() === true)
      others.push({ identity, version, feed: 'LV', lsn, indexId });
  }
}
