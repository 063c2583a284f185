/**
 * Owns the source container: documents with all their versions, the ranges they lie in, and what a
 * reader sees of them. LSNs count per range and are inherited by children; a replica that lags shows
 * the state at an older LSN. An expired document is invisible at once and deleted when it is purged.
 */

/** A source identity: its key value, a letter that is also its place in the hash space, and its id: `A7`. */
export type Identity = string;
/** A place in the target: target key value and id: `P7`. */
export type Slot = string;
/** The key value in the other container; `!` is a value that no container accepts as a key. */
export type Key = string;

export interface Content {
  readonly key: Key;
  /** The target key value that the rest of the document yields, if the document itself names another one. */
  readonly derived?: Key | undefined;
  /** A document of the first source has the property that is derived, with the value that is derived. */
  readonly own?: true | undefined;
  /** Too large once the key is added. */
  readonly big: boolean;
  /** A value the target wants unique within a key value; 0 is none. */
  readonly unique: number;
  /** The application's own mark for a deleted document. */
  readonly marked: boolean;
}

export interface Version extends Content {
  readonly lsn: number;
  readonly etag: number;
  /** Stands for the bytes: copies of a version have the same. */
  readonly body: number;
  readonly op: 'create' | 'replace' | 'delete';
  /** The LSN of the version before, which may have had another id; 0: there was none. */
  readonly previous: number;
  /** The end of an id whose document was renamed. No feed shows it. */
  readonly silent?: true;
  /** TTL is time, not replication: it hides every version on every replica. */
  expired: boolean;
}

export interface Range {
  readonly min: number;
  readonly max: number;
  lsn: number;
  /** AVAD has forgotten everything up to here: its retention is over. */
  forgotten: number;
}

/** 0 is the newest state, 1 a step behind, 2 as old as the reader permits. */
export type Lag = 0 | 1 | 2;

export const PLACES = 4;

/** On the way back the documents have the keys of the target: P and Q, or none. */
export function placeOf(id: Identity): number {
  const letter = id.slice(0, 1);
  const place = 'ABCD'.indexOf(letter);
  return place >= 0 ? place : 'Q_P'.indexOf(letter);
}

/** A document without a target key could not come here again: its rest yields one. */
export const hasNoKey = (id: Identity): boolean => id.startsWith('_');

export function slotOf(id: Identity, content: Pick<Content, 'key'>): Slot | null {
  return content.key === '!' || hasNoKey(id) ? null : content.key + id.slice(1);
}

export class Source {
  ranges: Range[];
  readonly #versions = new Map<Identity, Version[]>();
  readonly #bodies: number;
  #etag = 0;
  #expirations = 0;
  #isTtlPaused = false;

  constructor(ranges: number, bodies = 0) {
    this.#bodies = bodies;
    const width = PLACES / ranges;
    this.ranges = Array.from({ length: ranges }, (_, n) => ({
      min: Math.round(n * width),
      max: Math.round((n + 1) * width),
      lsn: 0,
      forgotten: 0,
    }));
  }

  /** How many writes there were. Each write has an etag, the next number. */
  get writes(): number {
    return this.#etag;
  }

  get identities(): Identity[] {
    return [...this.#versions.keys()];
  }

  rangeAt(place: number): Range {
    const range = this.ranges.find(({ min, max }) => min <= place && place < max);
    if (range === undefined) throw new Error(`no range holds ${place}`);
    return range;
  }

  /** The physical range that holds all of [min,max), or nothing after a split. */
  rangeOver(min: number, max: number): Range | undefined {
    return this.ranges.find((range) => range.min <= min && max <= range.max);
  }

  versionsOf(id: Identity): readonly Version[] {
    return this.#versions.get(id) ?? [];
  }

  /** What a replica at `lsn` shows. */
  at(id: Identity, lsn: number): Version | null {
    const version = this.versionsOf(id).findLast((one) => one.lsn <= lsn);
    return version === undefined || version.op === 'delete' || this.hides(version) ? null : version;
  }

  now(id: Identity): Version | null {
    return this.at(id, this.rangeAt(placeOf(id)).lsn);
  }

  /** Expired and not yet purged. */
  awaitsPurge(id: Identity): boolean {
    const last = this.versionsOf(id).at(-1);
    return last !== undefined && this.hides(last) && last.op !== 'delete';
  }

  /** One transaction: each content is a version of its own, null is a delete, and all share one LSN. */
  put(id: Identity, contents: readonly (Content | null)[]): void {
    const lsn = this.#tick(id);
    for (const content of contents) {
      const before = this.now(id);
      const base = content ?? before;
      if (base === null) continue;
      const op = content === null ? 'delete' : before === null ? 'create' : 'replace';
      const previous = before?.lsn ?? 0;
      this.#append(id, { ...base, lsn, ...this.#next(), op, previous, expired: false });
    }
  }

  /** A copy of a document of the other container, which keeps its bytes. */
  copy(id: Identity, content: Content, body: number): void {
    const before = this.now(id);
    const lsn = this.#tick(id);
    const op = before === null ? 'create' : 'replace';
    const previous = before?.lsn ?? 0;
    this.#append(id, { ...content, ...this.#next(), body, lsn, op, previous, expired: false });
  }

  /** A replace whose document has another id. The document stays the same to the service: it is one change. */
  rename(id: Identity, to: Identity, content: Content): void {
    const before = this.now(id);
    if (before === null) throw new Error(`${id} is not there`);
    const lsn = this.#tick(id);
    const change = { lsn, previous: before.lsn, expired: false };
    this.#append(id, { ...before, ...change, ...this.#next(), op: 'delete', silent: true });
    this.#append(to, { ...content, ...change, ...this.#next(), op: 'replace' });
  }

  /**
   * The rename after which nothing has this id; null: the id is taken, or its document was deleted. `isFirst`: no
   * document had the new id before.
   */
  renameOf(id: Identity): { readonly at: number; readonly isFirst: boolean } | null {
    const last = this.versionsOf(id).at(-1);
    if (last?.silent !== true) return null;
    const first = this.identities.map((one) => this.versionsOf(one)[0]);
    return {
      at: last.lsn,
      isFirst: first.some((one) => one?.lsn === last.lsn && one.previous === last.previous),
    };
  }

  delete(id: Identity): void {
    const gone = this.now(id) ?? this.versionsOf(id).at(-1);
    if (gone === undefined) throw new Error(`${id} was never there`);
    this.#append(id, { ...gone, lsn: this.#tick(id), previous: gone.lsn, ...this.#next(), op: 'delete' });
  }

  /** How often something has changed: by a write, or because a document has expired. */
  get changes(): number {
    return this.#etag + this.#expirations;
  }

  get isTtlPaused(): boolean {
    return this.#isTtlPaused;
  }

  /** While time to live is off, documents that have expired and were not purged are there again. */
  pauseTtl(isPaused: boolean): void {
    this.#expirations += 1;
    this.#isTtlPaused = isPaused;
  }

  hides({ expired }: Version): boolean {
    return expired && !this.#isTtlPaused;
  }

  expire(id: Identity): void {
    this.#expirations += 1;
    for (const version of this.versionsOf(id)) version.expired = true;
  }

  /** Splits the range that begins at a place. False when there is none, or it cannot be split. */
  split(min: number): boolean {
    const range = this.#rangeFrom(min);
    if (range === undefined || range.max - range.min < 2) return false;
    const middle = Math.floor((range.min + range.max) / 2);
    const children = [
      { ...range, max: middle },
      { ...range, min: middle },
    ];
    this.ranges = this.ranges.flatMap((one) => (one === range ? children : [one]));
    return true;
  }

  /** Merges the range that begins at a place with the next one. False when there are no two. */
  merge(min: number): boolean {
    const left = this.#rangeFrom(min);
    const right = left && this.#rangeFrom(left.max);
    if (left === undefined || right === undefined) return false;
    const merged = { ...left, max: right.max, lsn: Math.max(left.lsn, right.lsn) };
    this.ranges = this.ranges.flatMap((one) => (one === left ? [merged] : one === right ? [] : [one]));
    return true;
  }

  /** AVAD forgets all that the range which begins at a place has. False when there is nothing to forget. */
  forget(min: number): boolean {
    const range = this.#rangeFrom(min);
    if (range === undefined || range.forgotten === range.lsn) return false;
    range.forgotten = range.lsn;
    return true;
  }

  #rangeFrom(min: number): Range | undefined {
    return this.ranges.find((range) => range.min === min);
  }

  /** The LSN of a replica that answers a read: never older than `floor`, and older than now when it lags. */
  replica(place: number, floor: number, lag: Lag): number {
    const newest = this.rangeAt(place).lsn;
    if (lag === 0) return newest;
    return lag === 1 ? Math.max(Math.min(floor, newest), newest - 1) : Math.min(floor, newest);
  }

  #tick(id: Identity): number {
    const range = this.rangeAt(placeOf(id));
    range.lsn += 1;
    return range.lsn;
  }

  /** Bytes that the application writes are never the same twice. Two containers have different ones. */
  #next(): Pick<Version, 'etag' | 'body'> {
    this.#etag += 1;
    return { etag: this.#etag, body: this.#bodies + this.#etag };
  }

  #append(id: Identity, version: Version): void {
    const versions = this.#versions.get(id);
    if (versions === undefined) this.#versions.set(id, [version]);
    else versions.push(version);
  }
}
