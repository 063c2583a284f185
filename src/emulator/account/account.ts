/**
 * One emulated account: its data file, its clock, its settings, and every database and container in memory.
 *
 * Invariant: every change is written to the file before it changes the memory, through `transaction` here or through a
 * `WriteTransaction`. If SQLite fails, neither the file nor the memory has changed.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import type { Database } from '../../lib/sqlite/sqlite.ts';
import { catalogStore, type CatalogStore } from '../storage/catalog-store.ts';
import { THROTTLED_RU } from '../partitions/charges.ts';
import { documentStore, type DocumentStore } from '../storage/document-store.ts';
import { Faults } from '../http/faults.ts';
import { feedStore, type FeedStore } from '../storage/feed-store.ts';
import { ContainerModel, databaseModel, type DatabaseModel, type OfferModel } from './model.ts';
import { RU_PER_RANGE_MAX } from '../partitions/offers.ts';
import type { RangeModel } from '../partitions/ranges.ts';
import { Refusal } from '../http/refusal.ts';
import { RequestCounts } from '../http/request-counts.ts';
import { RuMeter, type Priority } from '../partitions/ru-meter.ts';
import type { Deviation } from './deviations.ts';
import { changeSettings, DEFAULT_SETTINGS, type Settings } from './settings.ts';

interface StoredOffer extends Pick<OfferModel, 'offerResourceId' | 'throughput' | 'history'> {
  /** Whether the ranges for a raised throughput have not been created yet. */
  readonly isPending: boolean;
}

/** The first number that has four digits in base 36. */
const FIRST_OFFER = 36 ** 3;

export class LocalAccount {
  readonly id = 'cosmig-emulator';
  readonly catalog: CatalogStore;
  readonly documents: DocumentStore;
  readonly feeds: FeedStore;
  readonly databases = new Map<string, DatabaseModel>();
  readonly offers = new Map<string, OfferModel>();
  readonly faults = new Faults();
  readonly meter: RuMeter;
  readonly counts = new RequestCounts();
  readonly #database: Database;
  readonly #clock: Clock;
  #settings: Settings;
  #offsetMs = 0;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
    this.catalog = catalogStore(database);
    this.documents = documentStore(database);
    this.feeds = feedStore(database);
    this.meter = new RuMeter({ nowMs: () => clock.monotonicMs() });
    const remembered = this.catalog.setting('account');
    this.#settings = changeSettings(DEFAULT_SETTINGS, remembered === undefined ? {} : JSON.parse(remembered));
    this.#offsetMs = Number(this.catalog.setting('clockOffsetMs') ?? 0);
    this.#load();
  }

  #load(): void {
    const byNumber = new Map<number, DatabaseModel>();
    for (const row of this.catalog.databases()) {
      const database = databaseModel(row);
      byNumber.set(row.number, database);
      this.databases.set(row.id, database);
    }
    for (const row of this.catalog.containers()) {
      const database = byNumber.get(row.database);
      if (database === undefined) continue;
      database.containers.set(row.id, new ContainerModel(row, database, this.catalog.ranges(row.number)));
    }
    for (const { content, ...row } of this.catalog.offers()) {
      const { isPending, ...stored } = JSON.parse(content) as StoredOffer;
      // If the process ended before the ranges for a raised throughput were created, they are created at once.
      this.offers.set(row.resource, { ...row, ...stored, pendingUntilMs: isPending ? 0 : undefined });
    }
  }

  get settings(): Settings {
    return this.#settings;
  }

  deviates(deviation: Deviation): boolean {
    return this.#settings.deviations.includes(deviation);
  }

  /**
   * Changes some settings. A change of `avad` starts or stops the recording of changes. A changed replica lag applies
   * to transactions from now on.
   */
  configure(changes: unknown): void {
    const next = changeSettings(this.#settings, changes);
    const before = this.#settings;
    const ranges = [...this.containers()].flatMap((container) =>
      container.ranges.map((range) => ({ container, range })),
    );
    this.transaction(() => {
      this.catalog.saveSetting('account', JSON.stringify(next));
      if (next.avad === before.avad) return;
      // The record has no changes from before the switch, so earlier positions are refused.
      if (!next.avad) this.feeds.clearChanges();
      for (const { container, range } of ranges)
        this.saveRange(container, { ...range, avadFloor: range.lsn });
    });
    this.#settings = next;
    for (const { range } of ranges) {
      if (next.avad !== before.avad) range.avadFloor = range.lsn;
      // Old versions were kept for the previous lag, or not at all, so every replica starts from the current state.
      if (next.replicaLagMs !== before.replicaLagMs) range.commits = [];
    }
  }

  /** Runs `body` in one SQLite transaction. An exception rolls all of it back. */
  transaction<T>(body: () => T): T {
    return this.#database.transaction(body).immediate();
  }

  /** Returns the account's time, which clients see: the machine's time plus the offset of `PUT /_emulator/clock`. */
  nowMs(): number {
    return this.#clock.now() + this.#offsetMs;
  }

  nowTs(): number {
    return Math.floor(this.nowMs() / 1000);
  }

  /**
   * Returns the machine's time. Budgets, signatures and waits use it, because the clock's offset must not affect them.
   */
  machineMs(): number {
    return this.#clock.now();
  }

  get clockOffsetMs(): number {
    return this.#offsetMs;
  }

  shiftClock(offsetMs: number): void {
    this.transaction(() => this.catalog.saveSetting('clockOffsetMs', String(offsetMs)));
    this.#offsetMs = offsetMs;
  }

  /** Returns what a new version of a resource has: an etag of its own, and the time. */
  newVersion(): { etag: string; ts: number } {
    return { etag: `"${randomUUID()}"`, ts: this.nowTs() };
  }

  *containers(): Generator<ContainerModel> {
    for (const database of this.databases.values()) yield* database.containers.values();
  }

  database(id: string): DatabaseModel {
    const database = this.databases.get(id);
    if (database === undefined) throw new Refusal(404, `Resource Not Found: there is no database ${id}.`);
    return database;
  }

  container(databaseId: string, id: string): ContainerModel {
    const container = this.databases.get(databaseId)?.containers.get(id);
    if (container === undefined) {
      throw new Refusal(404, `Resource Not Found: there is no container ${id} in database ${databaseId}.`, {
        substatus: 1003,
      });
    }
    return container;
  }

  saveRange(container: ContainerModel, range: RangeModel): void {
    this.catalog.updateRange({ container: container.number, ...range });
  }

  saveOffer(offer: OfferModel): void {
    const { id, resource, etag, ts, offerResourceId, throughput, history, pendingUntilMs } = offer;
    const isPending = pendingUntilMs !== undefined;
    const content: StoredOffer = { offerResourceId, throughput, history, isPending };
    this.catalog.saveOffer({ id, resource, content: JSON.stringify(content), etag, ts });
    const last = Math.max(Number(this.catalog.setting('lastOffer') ?? 0), Number.parseInt(id, 36));
    this.catalog.saveSetting('lastOffer', String(last));
  }

  /**
   * Returns an id that no offer has had since the account was created. It has four lower-case letters and digits,
   * because the SDK signs it in lower case.
   */
  newOfferId(): string {
    return (Math.max(FIRST_OFFER - 1, Number(this.catalog.setting('lastOffer') ?? 0)) + 1).toString(36);
  }

  /** Returns the offer that pays for a container: the container's own offer, or its database's. */
  offerOf(container: ContainerModel): OfferModel | undefined {
    return this.offers.get(container.self) ?? this.offers.get(container.database.self);
  }

  /** Returns the RU/s of one range: an even share of the throughput, at most what one range can serve. */
  rangeBudget(container: ContainerModel): number {
    const offer = this.offerOf(container);
    if (offer === undefined) return RU_PER_RANGE_MAX;
    return Math.min(RU_PER_RANGE_MAX, offer.throughput.ru / container.ranges.length);
  }

  #bucketOf(container: ContainerModel, range: RangeModel): { name: string; budgetRu: number } {
    const offer = this.offerOf(container);
    const isShared = offer !== undefined && offer.resource !== container.self;
    if (isShared) return { name: offer.resource, budgetRu: offer.throughput.ru };
    return { name: ownBucket(container, range), budgetRu: this.rangeBudget(container) };
  }

  /** Admits a request, or throws the refusal 429/3200 with the time to wait. */
  admit(container: ContainerModel, range: RangeModel, priority: Priority): void {
    if (this.#settings.ru === 'off') return;
    const bucket = this.#bucketOf(container, range);
    const waitMs = this.meter.admit(bucket.name, bucket.budgetRu, priority);
    if (waitMs === undefined) return;
    throw new Refusal(429, 'The request rate is too large. Please retry after some time.', {
      substatus: 3200,
      retryAfterMs: waitMs,
      chargeRu: THROTTLED_RU,
    });
  }

  charge(container: ContainerModel, range: RangeModel, ru: number, priority: Priority): void {
    this.meter.charge(this.#bucketOf(container, range).name, ru, priority);
  }

  /** Forgets the RU bucket of a deleted range. A bucket that all containers of the database share is kept. */
  forgetSpending(container: ContainerModel, range: RangeModel): void {
    this.meter.forget(ownBucket(container, range));
  }

  spentBy(container: ContainerModel, range: RangeModel): ReturnType<RuMeter['spent']> {
    return this.meter.spent(this.#bucketOf(container, range).name);
  }
}

/** Returns the name of a range's own RU bucket. Ranges that use the shared throughput of a database have none. */
function ownBucket(container: ContainerModel, range: RangeModel): string {
  return `${container.self}${range.id}`;
}
