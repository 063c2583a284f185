/**
 * Says of each document of the copy what the map of the target knows about it. Invariant: a document counts as present
 * only if the map has it in the slot where it belongs now, with the content that it has now; everything else goes through
 * the apply rule or is created. So a map that is out of date costs work and changes nothing: what it had wrong, the
 * comparison after the copy finds.
 */
import { ByteOutput } from '../../documents/byte-output.ts';
import { hashContentBytes, hashToBytes } from '../../documents/hash.ts';
import type { PageScan } from '../../documents/page-scan.ts';
import type { Rekey } from '../../keys/rekey.ts';
import { ETAG_BYTES, writeContentMark } from '../../state/segments/etag-hash.ts';
import { MAP_INDEX } from '../../state/segments/map-store.ts';
import type { RunContext } from '../context.ts';

/** `present`: in its slot, with its content. `elsewhere`: in another slot. `differs`: in its slot, with other content. */
export type Mapped = 'unknown' | 'present' | 'differs' | 'elsewhere';

export class MappedDocuments {
  readonly #pending: Pick<RunContext['pending'], 'rowOf'>;
  readonly #scan: PageScan;
  readonly #rekey: Rekey;
  /** Whether the target document is just the source document without its system properties. */
  readonly #isCarried: boolean;
  readonly #out = new ByteOutput();
  readonly #words = new Uint32Array(4);
  readonly #mark = Buffer.alloc(ETAG_BYTES);

  /** Reads rows of `scan` that `rekey` has read. */
  constructor(
    {
      pending,
      plan,
      versions,
    }: Pick<RunContext, 'plan' | 'versions'> & {
      readonly pending: Pick<RunContext['pending'], 'rowOf'>;
    },
    { scan, rekey }: { readonly scan: PageScan; readonly rekey: Rekey },
  ) {
    this.#pending = pending;
    this.#scan = scan;
    this.#rekey = rekey;
    this.#isCarried = plan.additionPaths.length === 0 && versions.ttl.mode === 'restart';
  }

  /** Whether the ledger knows the document of the row that `rekey` has read last. */
  has(): boolean {
    return this.#pending.rowOf(hashToBytes(this.#rekey.hashes), MAP_INDEX) !== null;
  }

  /** Looks up the document of a row, for which `rekey` has returned `moves`. */
  look(row: number): Mapped {
    const { hashes } = this.#rekey;
    const known = this.#pending.rowOf(hashToBytes(hashes), MAP_INDEX);
    if (known === null) return 'unknown';
    if (known.slot?.equals(hashToBytes(hashes, 4)) !== true) return 'elsewhere';
    // Without a content hash in the map, the comparison after the copy decides.
    return known.etag === null || known.etag.equals(this.#markOf(row)) ? 'present' : 'differs';
  }

  #markOf(row: number): Buffer {
    if (this.#isCarried) this.#scan.hashContent(row, this.#words, 0);
    else {
      this.#out.clear();
      this.#rekey.write(this.#out);
      hashContentBytes(this.#out.view(), this.#words, 0);
    }
    writeContentMark(this.#mark, 0, this.#words);
    return this.#mark;
  }
}
