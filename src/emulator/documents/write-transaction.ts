/**
 * One transaction on one container: a single write, a batch, or a bulk request. All its documents in one range share
 * one LSN.
 *
 * Invariant: the counters of ranges are staged here and copied to the memory only after SQLite has committed. A failed
 * transaction therefore changes nothing.
 */
import type { LocalAccount } from '../account/account.ts';
import { itemNumberOf, positionOf, type DocumentRow } from '../storage/document-store.ts';
import type { ContainerModel } from '../account/model.ts';
import { isObject } from '../json/json-value.ts';
import type { RangeModel } from '../partitions/ranges.ts';

interface Staged {
  lsn: number;
  documents: number;
  bytes: number;
  writes: number;
}

/** A new version of a document, without the properties that the transaction adds. */
export interface DocumentVersion {
  readonly epk: string;
  readonly id: string;
  readonly key: string;
  /** The text of the document without system properties and without its closing brace. */
  readonly openText: string;
  readonly bytes: number;
  readonly terms: number;
  readonly ttl: number | undefined;
}

/** How many recent transactions a range keeps in memory for readers of a lagging replica. */
const COMMITS_KEPT = 10_000;
/** What the deviation `renames-with-new-rid` adds to the number in a `_rid`. */
const NEW_RID_OFFSET = 2 ** 24;

export class WriteTransaction {
  readonly container: ContainerModel;
  readonly nowTs: number;
  readonly account: LocalAccount;
  readonly #staged = new Map<RangeModel, Staged>();
  #nextItem: number;

  private constructor(account: LocalAccount, container: ContainerModel) {
    this.account = account;
    this.container = container;
    this.nowTs = account.nowTs();
    this.#nextItem = container.nextItem;
  }

  /** Runs `body` in a transaction. Its writes are durable when `run` returns, and rolled back when `body` throws. */
  static run<T>(
    account: LocalAccount,
    container: ContainerModel,
    body: (transaction: WriteTransaction) => T,
  ): T {
    const transaction = new WriteTransaction(account, container);
    const result = account.transaction(() => {
      const value = body(transaction);
      transaction.#save();
      return value;
    });
    transaction.#publish();
    return result;
  }

  #stagedOf(range: RangeModel): Staged {
    let staged = this.#staged.get(range);
    if (staged === undefined) {
      staged = { lsn: range.lsn + 1, documents: range.documents, bytes: range.bytes, writes: 0 };
      this.#staged.set(range, staged);
    }
    return staged;
  }

  bytesOf(range: RangeModel): number {
    return this.#staged.get(range)?.bytes ?? range.bytes;
  }

  /** Returns the LSN of the newest transaction in a range, including this one. */
  lsnOf(range: RangeModel): number {
    const staged = this.#staged.get(range);
    return staged !== undefined && staged.writes > 0 ? staged.lsn : range.lsn;
  }

  find(epk: string, id: string): DocumentRow | undefined {
    return this.account.documents.find(this.container.number, epk, id);
  }

  hasExpired(row: DocumentRow): boolean {
    return row.expires_at !== null && row.expires_at <= this.nowTs;
  }

  expiryOf(ttl: number | undefined): number | null {
    const { defaultTtl } = this.container.definition;
    const { account, nowTs } = this;
    if (defaultTtl === null && account.deviates('ttl-without-switch')) return expiryOf(-1, ttl, nowTs);
    if (defaultTtl === -1 && account.deviates('ttl-ignored')) return null;
    if (ttl === -1 && account.deviates('no-endless-ttl')) return expiryOf(defaultTtl, undefined, nowTs);
    return expiryOf(defaultTtl, ttl, nowTs);
  }

  /** Inserts a document. Returns undefined if its id and key are taken. */
  insert(range: RangeModel, version: DocumentVersion): DocumentRow | undefined {
    const item = this.#nextItem;
    const row = this.#rowOf(range, version, positionOf(this.container.number, item));
    if (this.account.documents.insert(row) === 0) return undefined;
    this.#nextItem = item + 1;
    const staged = this.#stagedOf(range);
    staged.documents += 1;
    staged.bytes += row.bytes;
    staged.writes += 1;
    this.#record(row, 'create', undefined);
    return row;
  }

  replace(range: RangeModel, before: DocumentRow, version: DocumentVersion): DocumentRow {
    const { account } = this;
    const isRename = before.id !== version.id;
    const hasNewRid = isRename && account.deviates('renames-with-new-rid');
    const item = itemNumberOf(before.position) + (hasNewRid ? NEW_RID_OFFSET : 0);
    const row = this.#rowOf(range, version, before.position, item);
    const staged = this.#stagedOf(range);
    this.#keepForLaggards(before, staged.lsn);
    account.documents.update(row);
    staged.bytes += row.bytes - before.bytes;
    staged.writes += 1;
    if (isRename && account.deviates('renames-as-creates')) this.#record(row, 'create', undefined);
    else if (isRename || !account.deviates('no-replaces')) this.#record(row, 'replace', before.lsn);
    return row;
  }

  remove(range: RangeModel, before: DocumentRow, expired: boolean): void {
    const staged = this.#stagedOf(range);
    this.#keepForLaggards(before, staged.lsn);
    this.account.documents.remove(before.position);
    if (this.container.definition.uniqueKeys.length > 0)
      this.account.documents.releaseUnique(before.position);
    staged.documents -= 1;
    staged.bytes -= before.bytes;
    staged.writes += 1;
    this.#recordDelete(before, staged.lsn, expired);
  }

  #rowOf(
    range: RangeModel,
    version: DocumentVersion,
    position: number,
    item = itemNumberOf(position),
  ): DocumentRow {
    const staged = this.#stagedOf(range);
    const etag = etagOf(staged.lsn, staged.writes, range.id, this.nowTs);
    const rid = this.container.documentRid(item);
    const text =
      `${version.openText},"_rid":"${rid}","_self":"${this.container.self}docs/${rid}/",` +
      `"_etag":"\\"${etag}\\"","_attachments":"attachments/","_ts":${this.nowTs}`;
    return {
      position,
      container: this.container.number,
      range: range.id,
      epk: version.epk,
      id: version.id,
      lsn: staged.lsn,
      ts: this.nowTs,
      etag: `"${etag}"`,
      expires_at: this.expiryOf(version.ttl),
      bytes: version.bytes,
      terms: version.terms,
      key: version.key,
      text,
    };
  }

  #keepForLaggards({ position }: DocumentRow, untilLsn: number): void {
    if (this.account.settings.replicaLagMs === 0) return;
    this.account.documents.supersede({ position, untilLsn, atMs: this.account.machineMs() });
  }

  #record(row: DocumentRow, operationType: 'create' | 'replace', previousLsn: number | undefined): void {
    const { account } = this;
    if (!account.settings.avad) return;
    const previous = previousLsn === undefined ? '' : `,"previousImageLSN":${previousLsn}`;
    const metadata = `{"operationType":"${operationType}","lsn":${this.#shown(row.lsn)},"crts":${row.ts}${previous}}`;
    account.feeds.record({ ...row, entry: `{"current":${row.text}},"metadata":${metadata}}` });
  }

  #recordDelete(before: DocumentRow, lsn: number, expired: boolean): void {
    if (!this.account.settings.avad) return;
    const metadata = {
      operationType: 'delete',
      lsn: this.#shown(lsn),
      crts: this.nowTs,
      previousImageLSN: before.lsn,
      timeToLiveExpired: expired,
      id: before.id,
    };
    const key = this.#keyOfDelete(before).join(',');
    const metadataJson = `${JSON.stringify(metadata).slice(0, -1)},"partitionKey":{${key}}}`;
    const [ts, bytes, entry] = [this.nowTs, metadataJson.length, `{"metadata":${metadataJson}}`];
    this.account.feeds.record({ ...before, lsn, ts, bytes, entry });
  }

  /** Returns the LSN as the feed of all versions shows it. */
  #shown(lsn: number): number {
    return this.account.deviates('other-lsns') ? lsn + 1000 : lsn;
  }

  /** Returns the members that name the key of a deleted document. */
  #keyOfDelete({ key }: DocumentRow): readonly string[] {
    const values = JSON.parse(key) as unknown[];
    const { keyNames } = this.container.definition;
    const { account } = this;
    const isCut = account.deviates(keyNames.length > 1 ? 'deletes-with-one-level' : 'deletes-without-key');
    return keyNames.slice(0, isCut ? Math.min(1, keyNames.length - 1) : undefined).flatMap((name, level) => {
      const value = values[level];
      // The entry leaves out a missing key value, which the stored key writes as {}.
      if (!isObject(value)) return [`${JSON.stringify(name)}:${JSON.stringify(value)}`];
      return account.deviates('missing-keys-as-null') ? [`${JSON.stringify(name)}:null`] : [];
    });
  }

  #save(): void {
    for (const [range, staged] of this.#staged) {
      if (staged.writes === 0) continue;
      this.account.saveRange(this.container, { ...range, ...staged });
    }
    if (this.#nextItem === this.container.nextItem) return;
    const { number, nextRange } = this.container;
    this.account.catalog.countContainer({ number, nextRange, nextItem: this.#nextItem });
  }

  #publish(): void {
    this.container.nextItem = this.#nextItem;
    const atMs = this.account.machineMs();
    for (const [range, staged] of this.#staged) {
      if (staged.writes === 0) continue;
      const { lsn, documents, bytes } = staged;
      Object.assign(range, { lsn, documents, bytes });
      if (this.account.settings.replicaLagMs === 0) continue;
      range.commits.push({ lsn, atMs });
      if (range.commits.length > COMMITS_KEPT) range.commits.splice(0, COMMITS_KEPT / 2);
    }
  }
}

/** Returns when a document written at `ts` expires, in epoch seconds; null if it never expires. */
export function expiryOf(defaultTtl: number | null, ttl: number | undefined, ts: number): number | null {
  if (defaultTtl === null) return null;
  const seconds = ttl ?? defaultTtl;
  return seconds === -1 ? null : ts + seconds;
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}

/** Returns an etag in the form of a GUID. LSN, number of the write and range make it unique for a document. */
function etagOf(lsn: number, write: number, range: number, ts: number): string {
  return `${hex(lsn, 8)}-${hex(range & 0xffff, 4)}-${hex(write, 4)}-0000-${hex(ts, 12)}`;
}
