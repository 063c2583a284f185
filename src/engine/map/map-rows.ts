/**
 * Reads the documents of a target page for the map: of each, the identity that its content names and the slot that it is
 * in. Invariant: a document that a migration with these settings cannot have written is a stranger. It is counted, and
 * is not in the map, so it is never taken for a copy.
 */
import { askForMap, VERSION } from '../../documents/kernel/map-kernel.ts';
import { latestVersionScan, type PageScan } from '../../documents/page-scan.ts';
import { lsnMissing } from '../../documents/page-error.ts';
import { integerAt } from '../../documents/scalar.ts';
import { Placement } from '../../keys/placement.ts';
import { Rekey, rekeyPaths } from '../../keys/rekey.ts';
import { removerOf } from '../../keys/removal.ts';
import type { Remover } from '../../keys/remover.ts';
import { SegmentBuilder, type FinishedSegment } from '../../state/segments/segment.ts';
import type { MapTotals } from '../../state/segments/map-store.ts';
import type { RunContext } from '../context.ts';
import { RESERVATION_ID } from '../../preflight/reservation.ts';
import { isReservation } from './reservation-row.ts';

/** What a page has added. */
export interface MappedPage extends MapTotals {
  /** The documents up to the fence, without the reservation. */
  readonly documents: number;
  readonly isBeyond: boolean;
  /** How many of the mapped documents have a derived property of their own. */
  readonly owning: number;
  readonly segments: readonly FinishedSegment[];
}

interface MapRowsOptions {
  readonly requiresSourceKey: boolean;
  readonly hasCopyEtags: boolean;
}

/** The map does not store the names of documents: the target has them. */
const NO_NAMES = Buffer.alloc(0);

export class MapRows {
  readonly #scan: PageScan;
  readonly #placement: Placement;
  /**
   * Computes the key from the content; undefined if a derived value replaces a part of the source key, because the
   * target document then lacks what the key is made of, and where the key is a property that every document may have.
   */
  readonly #rekey: Rekey | undefined;
  /** Whether a document that lacks a part of the source key is a stranger. */
  readonly #requiresSourceKey: boolean;
  readonly #key: readonly number[];
  readonly #segment = new SegmentBuilder();
  /** The content hash of a row; null if contents are not compared, because their `ttl` differs between both sides. */
  readonly #content: Uint32Array | null;
  readonly #hasCopyEtags: boolean;
  /** Sees which derived properties a copy has of its own, in a move back. */
  readonly #remover: Remover | undefined;
  #owning = 0;
  /** What the kernel is asked; undefined if no row is plain. */
  readonly #asked: Uint32Array | undefined;

  /**
   * `hasCopyEtags`: whether entries get the etags of the copies, by which a turn notices that another process has changed
   * a copy. Otherwise they get hashes of the contents.
   */
  constructor(
    {
      plan,
      versions: { kind, ttl },
      spec: { missingKey },
      packsPages,
    }: Pick<RunContext, 'plan' | 'versions' | 'packsPages'> & {
      readonly spec: Pick<RunContext['spec'], 'missingKey'>;
    },
    { requiresSourceKey, hasCopyEtags }: MapRowsOptions,
  ) {
    this.#requiresSourceKey = requiresSourceKey;
    this.#hasCopyEtags = hasCopyEtags;
    const scan = latestVersionScan(rekeyPaths(plan));
    this.#scan = scan;
    this.#placement = new Placement(scan, plan);
    const restart = { mode: 'restart' } as const;
    const lacksKey = plan.replacedPaths.length > 0 || plan.back !== undefined;
    // Without a derived property the key is the property that the document has. It is right in any slot.
    const isGiven = plan.additionPaths.length === 0 && missingKey === 'keep';
    this.#rekey = lacksKey || isGiven ? undefined : new Rekey(scan, { plan, kind, ttl: restart });
    this.#remover = plan.back === undefined ? undefined : removerOf(scan, plan);
    this.#key = plan.targetPaths.map((path) => scan.nodeAt(path));
    this.#content = ttl.mode === 'restart' ? new Uint32Array(4) : null;
    // A key that is computed, for the identity or to check the slot, is read value by value. So is what a copy has of its own,
    // in a move back in which the identity is computed.
    if (!packsPages || plan.identity !== undefined || this.#rekey !== undefined) return;
    const names = plan.sourcePathsInTarget.map((path) => scan.nodeAt(path));
    this.#asked = askForMap({
      ...scan.nodes,
      version: hasCopyEtags ? VERSION.etag : this.#content === null ? VERSION.none : VERSION.content,
      identity: [scan.nodes.id, ...names],
      key: this.#key,
      required: requiresSourceKey ? names : [],
      idLeftOut: JSON.stringify(RESERVATION_ID),
    });
  }

  /** Reads the documents of a page up to the fence. Throws a PageError for a damaged page, of which nothing is taken. */
  read(page: Buffer, fenceLsn: number): MappedPage {
    const scan = this.#scan.scan(page);
    const plain = this.#asked === undefined ? undefined : scan.mapRows(this.#asked, fenceLsn);
    const { mapped: count = 0, segments = [] } = plain ?? {};
    let [documents, mapped, strangers] = [count, count, 0];
    let isBeyond = plain?.isBeyond === true;
    this.#owning = 0;
    for (const row of plain?.listed ?? Array.from({ length: scan.count }, (_, i) => i)) {
      const lsn = integerAt(scan, row, scan.nodes.lsn);
      if (lsn === null) throw lsnMissing();
      if (lsn > fenceLsn) {
        isBeyond = true;
        continue;
      }
      if (isReservation(this.#scan, row)) continue;
      documents += 1;
      if (!this.#isCopy(row)) {
        strangers += 1;
        continue;
      }
      mapped += 1;
      this.#add(row);
    }
    const made = segments.map((segment) => ({ ...segment, lsnBase: 0, names: NO_NAMES }));
    const owning = this.#owning;
    return { documents, mapped, strangers, isBeyond, owning, segments: [...made, ...this.#segment.finish()] };
  }

  #add(row: number): void {
    const { hashes } = this.#placement;
    const own = this.#remover?.own(row) ?? 0;
    if (own !== 0) this.#owning += 1;
    // The source version that the copy was made of is not known. An LSN of 0 is before that of every change. In a move back
    // the space of the LSN has what the copy has of its own (segment-reader.ts).
    this.#segment.addScanned({ hashes, lsn: own, scan: this.#scan, row, nodes: this.#key });
    if (this.#hasCopyEtags) {
      const { page, nodes } = this.#scan;
      this.#segment.etag(page, this.#scan.start(row, nodes.etag), this.#scan.end(row, nodes.etag));
      return;
    }
    if (this.#content === null) return;
    this.#scan.hashContent(row, this.#content, 0);
    this.#segment.content(this.#content);
  }

  /** Reads a row, and returns whether its document may be a copy. */
  #isCopy(row: number): boolean {
    if (!this.#placement.read(row)) return false;
    // Documents without a source key exist, but here it is more likely that the document was never in the source. If it
    // was, the copy finds the document in its slot, and compares identities then.
    if (this.#requiresSourceKey && !this.#placement.hasWholeKey) return false;
    // A document whose derived property has another value than the derivation gives is refused.
    return this.#rekey === undefined || this.#rekey.read(row, 0) !== 'refused';
  }
}
