/**
 * Takes the changes out of a page of the tail. The changes have memory of their own and outlive the page. Invariant: no
 * change is skipped silently. A change that cannot be parsed is an error, and a delete whose document cannot be
 * identified is counted.
 */
import { hashToBytes } from '../../documents/hash.ts';
import {
  allVersionsScan,
  latestVersionScan,
  type EnvelopeNodes,
  type PageScan,
} from '../../documents/page-scan.ts';
import { lsnMissing, PageError } from '../../documents/page-error.ts';
import { Deletion } from '../../keys/rekey.ts';
import type { Change } from '../apply/apply.ts';
import type { RunContext } from '../context.ts';
import { integerAt } from '../../documents/scalar.ts';
import type { SourceIdentity } from '../apply/identity.ts';
import { versionPaths, VersionReader } from './source-version.ts';

/** The changes of a page. */
export interface Changes {
  readonly changes: readonly Change[];
  /** Whether some changes lie beyond the anchor and were left out. A later page shows them again. */
  readonly beyond: boolean;
  /** How many deletes do not identify their document. */
  readonly unnamed: number;
  /** How many of the changed documents have an integer beyond 2^53. */
  readonly longIntegers: number;
  /** The time of the newest change, in seconds; null if no change of the page has a time. */
  readonly lastTs: number | null;
  /** The highest LSN of the changes; null if there is none. */
  readonly lastLsn: number | null;
  /** Those of the changes that are deletes by the service itself, because the documents had expired. */
  readonly expired: ReadonlySet<Change>;
}

export interface ChangesOptions {
  /** The service's time in seconds. */
  readonly nowTs: number;
  readonly indexId: number;
  /** The LSN up to which changes are taken. */
  readonly anchorLsn: number;
}

export interface ChangeReader {
  /** Reads the changes of a page; throws a PageError if the page is damaged. */
  read(page: Buffer, options: ChangesOptions): Changes;
}

/** Reads the latest-version feed. */
export class LatestChanges implements ChangeReader {
  readonly #scan: PageScan;
  readonly #versions: VersionReader;

  constructor({ versions }: RunContext) {
    this.#scan = latestVersionScan(versionPaths(versions));
    this.#versions = new VersionReader(this.#scan, versions);
  }

  read(page: Buffer, { nowTs, indexId, anchorLsn }: ChangesOptions): Changes {
    const scan = this.#scan.scan(page);
    const changes: Change[] = [];
    let beyond = false;
    let longIntegers = 0;
    let lastTs: number | null = null;
    for (let row = 0; row < scan.count; row += 1) {
      const reading = this.#versions.read(row, nowTs);
      if (reading.lsn === null) throw lsnMissing();
      if (reading.lsn > anchorLsn) {
        beyond = true;
        continue;
      }
      changes.push({ ...reading, feed: 'LV', indexId });
      if (scan.hasLongInteger(row)) longIntegers += 1;
      lastTs = newer(lastTs, integerAt(scan, row, scan.nodes.ts));
    }
    return {
      changes,
      beyond,
      unnamed: 0,
      longIntegers,
      lastTs,
      lastLsn: newestLsn(changes),
      expired: NONE,
    };
  }
}

/** Reads the feed of all versions and deletes. */
export class AllChanges implements ChangeReader {
  readonly #scan: PageScan<EnvelopeNodes>;
  readonly #versions: VersionReader;
  readonly #deletion: Deletion;
  readonly #words = new Uint32Array(4);

  constructor({ versions, plan }: RunContext) {
    this.#scan = allVersionsScan(versionPaths(versions), plan.sourcePaths);
    this.#versions = new VersionReader(this.#scan, versions);
    this.#deletion = new Deletion(this.#scan);
  }

  read(page: Buffer, { nowTs, indexId }: ChangesOptions): Changes {
    const scan = this.#scan.scan(page);
    const { around } = scan;
    const changes: Change[] = [];
    const expired = new Set<Change>();
    let unnamed = 0;
    let longIntegers = 0;
    let lastTs: number | null = null;
    for (let row = 0; row < scan.count; row += 1) {
      const lsn = integerAt(scan, row, around.lsn);
      if (lsn === null) throw lsnMissing();
      lastTs = newer(lastTs, integerAt(scan, row, around.crts));
      if (this.#isDelete(row)) {
        const change = this.#deleteIn(row, { lsn, indexId });
        if (change === undefined) unnamed += 1;
        else {
          changes.push(change);
          if (scan.bytes(row, around.timeToLiveExpired).equals(TRUE)) expired.add(change);
        }
      } else if (scan.hasDocument(row)) {
        const reading = this.#versions.read(row, nowTs);
        if (scan.hasLongInteger(row)) longIntegers += 1;
        const shown = this.#shownIn(row);
        const former = this.#formerIdentity(row, reading.identity);
        changes.push({ ...reading, feed: 'AVAD', lsn, indexId, ...(former === undefined ? { shown } : {}) });
        // This change has no version, so the apply rule asks the source what is at the old id now: another document may
        // have taken the id.
        if (former !== undefined)
          changes.push({ identity: former, version: null, feed: 'AVAD', lsn, indexId });
      } else throw new PageError('a change has no document', scan.elementStart(row));
    }
    return { changes, beyond: false, unnamed, longIntegers, lastTs, lastLsn: newestLsn(changes), expired };
  }

  #isDelete(row: number): boolean {
    const { operationType } = this.#scan.around;
    return this.#scan.bytes(row, operationType).equals(DELETE);
  }

  #shownIn(row: number): NonNullable<Change['shown']> {
    const { operationType, previousLsn } = this.#scan.around;
    const operation = this.#scan.bytes(row, operationType);
    const as = operation.equals(DELETE) ? 'delete' : operation.equals(REPLACE) ? 'replace' : 'create';
    return { as, previousLsn: integerAt(this.#scan, row, previousLsn) };
  }

  /**
   * Returns the identity before the change, if the feed sends the previous version and the document had another id
   * then.
   */
  #formerIdentity(row: number, identity: SourceIdentity): SourceIdentity | undefined {
    if (!this.#deletion.readPrevious(row, this.#words, 0)) return undefined;
    const hash = hashToBytes(this.#words);
    return hash.equals(identity.hash) ? undefined : { hash, name: this.#deletion.previousName(row) };
  }

  #deleteIn(
    row: number,
    { lsn, indexId }: { readonly lsn: number; readonly indexId: number },
  ): Change | undefined {
    if (!this.#deletion.read(row, this.#words, 0)) return undefined;
    const identity = { hash: hashToBytes(this.#words), name: this.#deletion.name(row) };
    return { identity, version: 'gone', feed: 'AVAD', lsn, indexId, shown: this.#shownIn(row) };
  }
}

const DELETE = Buffer.from('"delete"');
const REPLACE = Buffer.from('"replace"');
const TRUE = Buffer.from('true');
const NONE: ReadonlySet<Change> = new Set();

function newer(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}

function newestLsn(changes: readonly Change[]): number | null {
  let newest: number | null = null;
  for (const { lsn } of changes) newest = newer(newest, lsn);
  return newest;
}
