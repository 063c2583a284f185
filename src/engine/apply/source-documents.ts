/**
 * Point reads of the source, which return the current version of a document. Invariant: the answer is no older than
 * anything that this run or an earlier one has seen of the document's range. Reads have Low priority and stay within the
 * source's budget.
 */
import { PointReads } from '../../cosmos/bulk/point-reads.ts';
import type { Side } from '../../cosmos/side.ts';
import { replyScan } from '../../documents/page-scan.ts';
import type { Clock } from '../../lib/clock.ts';
import type { ServiceTime } from '../../cosmos/account/service-time.ts';
import { versionPaths, VersionReader, type Version, type VersionParts } from '../tail/source-version.ts';
import { idOf, keyOf, type SourceIdentity } from './identity.ts';

/**
 * Stands for a document whose id the service does not accept in a point read. A feed has shown the document, so it
 * must not count as deleted.
 */
const UNREADABLE: Version = {
  etag: '',
  slot: null,
  refusal: { reason: 'bad-id', why: 'the service no longer takes this id' },
  body: Buffer.alloc(0),
};

interface Parts extends VersionParts {
  readonly side: Side;
  readonly clock: Clock;
  readonly serviceTime: ServiceTime;
}

export class SourceDocuments {
  readonly reads: PointReads<Version | 'gone'>;

  constructor(parts: Parts) {
    const { side, clock, serviceTime } = parts;
    const replies = replyScan(versionPaths(parts));
    const reader = new VersionReader(replies, parts);
    // Before `keep` reads a document, `serviceTime` has the time of the reply that contains it. This time decides
    // whether the document has expired.
    const keep = (row: number): Version | 'gone' => reader.read(row, serviceTime.nowTs()).version;
    this.reads = new PointReads({ side, replies, keep, clock });
  }

  /** Reads the current version of a document. */
  async read(identity: SourceIdentity): Promise<Version | 'gone'> {
    const { value } = await this.reads.read({ id: idOf(identity), key: keyOf(identity) });
    return value === 'unreadable' ? UNREADABLE : value;
  }
}
