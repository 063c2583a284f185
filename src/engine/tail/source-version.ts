/**
 * One version of a source document, read from a page or a reply: the slot where it belongs, and either its bytes for the
 * target or the reason why it cannot be written. A version has memory of its own and outlives the page.
 */
import { hashToBytes } from '../../documents/hash.ts';
import { ByteOutput } from '../../documents/byte-output.ts';
import type { Lifetime } from '../../documents/ttl.ts';
import { decodeScalar, decodeText, integerAt, isComposite } from '../../documents/scalar.ts';
import type { PageScan } from '../../documents/page-scan.ts';
import type { KeyKind } from '../../epk/effective-key.ts';
import { must } from '../../lib/assert.ts';
import type { MovePlan, OwnProperties } from '../../keys/move-plan.ts';
import { Rekey, rekeyPaths, type DocumentRefusal, type TtlMode } from '../../keys/rekey.ts';
import type { Path } from '../../keys/strategies/strategy.ts';
import { textsAt, type Slot, type SourceIdentity } from '../apply/identity.ts';

export interface Version {
  readonly etag: string;
  /** The slot where the document belongs; null if it has no target key. */
  readonly slot: Slot | null;
  /** Why the document cannot be written; null if it can. */
  readonly refusal: DocumentRefusal | null;
  /** The bytes of the target document; empty if it cannot be written. */
  readonly body: Buffer;
  /** When the document expires, if its body says so. */
  readonly lifetime?: Lifetime | undefined;
}

/** A document as a page or a reply shows it. */
export interface SourceReading {
  readonly identity: SourceIdentity;
  /** `gone` if the document is deleted, marked as deleted, or expired. */
  readonly version: Version | 'gone';
  /** The LSN of the version; null if the page or the reply does not contain it. */
  readonly lsn: number | null;
}

export interface VersionParts {
  readonly plan: MovePlan;
  /** How the target hashes its partition key. */
  readonly kind: KeyKind;
  readonly ttl: TtlMode;
  /** The path of the property that marks a deleted document; null without `marker` deletes. */
  readonly marker: Path | null;
  /** For a move back: which derived properties documents had of their own. */
  readonly own?: OwnProperties | undefined;
}

/** Returns the paths that a scan must find, so that versions can be read from the scan. */
export function versionPaths({ plan, marker }: Pick<VersionParts, 'plan' | 'marker'>): readonly Path[] {
  return marker === null ? rekeyPaths(plan) : [...rekeyPaths(plan), marker];
}

export class VersionReader {
  readonly rekey: Rekey;
  readonly #scan: PageScan;
  readonly #name: readonly number[];
  readonly #marker: number | undefined;
  readonly #out = new ByteOutput();

  constructor(scan: PageScan, { plan, kind, ttl, marker, own }: VersionParts) {
    this.#scan = scan;
    this.rekey = new Rekey(scan, { plan, kind, ttl, own });
    this.#name = [scan.nodes.id, ...plan.sourcePaths.map((path) => scan.nodeAt(path))];
    this.#marker = marker === null ? undefined : scan.nodeAt(marker);
  }

  /** Reads the document in a row of the last scan; `nowTs` is the service's time in seconds. */
  read(row: number, nowTs: number): SourceReading {
    const { rekey } = this;
    const verdict = rekey.read(row, nowTs);
    const identity = { hash: hashToBytes(rekey.hashes), name: textsAt(this.#scan, row, this.#name) };
    const lsn = this.lsn(row);
    if (verdict === 'expired' || this.isMarked(row)) return { identity, version: 'gone', lsn };
    const etag = this.etag(row);
    const slotted = (): Slot => ({ hash: hashToBytes(rekey.hashes, 4), key: rekey.key });
    if (verdict === 'refused') {
      const refusal = must(rekey.refusal, 'a refusal has a reason');
      const slot = HAVE_A_KEY.has(refusal.reason) ? slotted() : null;
      return { identity, version: { etag, slot, refusal, body: EMPTY }, lsn };
    }
    this.#out.clear();
    rekey.write(this.#out);
    const slot = slotted();
    const body = Buffer.from(this.#out.view());
    return { identity, version: { etag, slot, refusal: null, body, lifetime: rekey.lifetime }, lsn };
  }

  /** Whether the document is marked as deleted: its marker property exists and is not false, null, 0 or "". */
  isMarked(row: number): boolean {
    if (this.#marker === undefined) return false;
    const [start, end] = [this.#scan.start(row, this.#marker), this.#scan.end(row, this.#marker)];
    if (start === 0) return false;
    return isComposite(this.#scan.page, start) || Boolean(decodeScalar(this.#scan.page, start, end));
  }

  etag(row: number): string {
    const { nodes, page } = this.#scan;
    const start = this.#scan.start(row, nodes.etag);
    return start === 0 || page[start] !== 0x22
      ? ''
      : decodeText(page, start, this.#scan.end(row, nodes.etag));
  }

  lsn(row: number): number | null {
    const { nodes } = this.#scan;
    return integerAt(this.#scan, row, nodes.lsn);
  }
}

const EMPTY = Buffer.alloc(0);
/** Reasons that concern the content only: a document refused for one of these has a valid key, so its slot is known. */
const HAVE_A_KEY: ReadonlySet<DocumentRefusal['reason']> = new Set(['too-large', 'key-conflict']);
