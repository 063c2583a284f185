/**
 * One account: its file, its clock, its settings, and every database and container in memory.
 *
 * Invariant: every change reaches the file before the memory, through `transaction` here or through a
 * `WriteTransaction`. When SQLite fails, nothing has changed.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import type { Database } from '../../lib/sqlite/sqlite.ts';
import { CatalogStore } from '../storage/catalog-store.ts';
import { THROTTLED_RU } from '../partitions/charges.ts';
import { DocumentStore } from '../storage/document-store.ts';
import { Faults } from '../http/faults.ts';
import { FeedStore } from '../storage/feed-store.ts';
import { ContainerModel, DatabaseModel, type OfferModel } from './model.ts';
import { RU_PER_RANGE_MAX } from '../partitions/offers.ts';
import type { RangeModel } from '../partitions/ranges.ts';
import { Refusal } from '../http/refusal.ts';
import { RequestCounts } from '../http/request-counts.ts';
import { RuMeter, type Priority } from '../partitions/ru-meter.ts';
import { changeSettings, DEFAULT_SETTINGS, type Settings } from './settings.ts';

interface StoredOffer extends Pick<OfferModel, 'offerResourceId' | 'throughput' | 'history'> {
  /** Whether ranges for a raised throughput are still to be created. */
  readonly isPending: boolean;
}

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
    this.catalog = new CatalogStore(database);
    this.documents = new DocumentStore(database);
    this.feeds = new FeedStore(database);
    this.meter = new RuMeter({ nowMs: () => clock.now() });
    const remembered = this.catalog.setting('account');
    this.#settings = changeSettings(DEFAULT_SETTINGS, remembered === undefined ? {} : JSON.parse(remembered));
    this.#offsetMs = Number(this.catalog.setting('clockOffsetMs') ?? 0);
    this.#load();
  }

  #load(): void {
    const byNumber = new Map<number, DatabaseModel>();
    for (const row of this.catalog.databases()) {
      const database = new DatabaseModel(row);
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
      // A raise that was in progress when the process ended is finished at once.
      this.offers.set(row.resource, { ...row, ...stored, pendingUntilMs: isPending ? 0 : undefined });
    }
  }

  get settings(): Settings {
    return this.#settings;
  }

  /** Changes some settings. `avad` starts and stops the recording of changes; a changed lag starts from zero. */
  configure(changes: unknown): void {
    const next = changeSettings(this.#settings, changes);
    const before = this.#settings;
    this.transaction(() => {
      this.catalog.saveSetting('account', JSON.stringify(next));
      if (next.avad === before.avad) return;
      // Changes before the switch were not recorded, so positions before it are no longer served.
      if (!next.avad) this.feeds.clearChanges();
      for (const container of this.containers()) {
        for (const range of container.ranges) this.saveRange(container, { ...range, avadFloor: range.lsn });
      }
    });
    this.#settings = next;
    if (next.avad !== before.avad) {
      for (const container of this.containers()) {
        for (const range of container.ranges) range.avadFloor = range.lsn;
      }
    }
    if (next.replicaLagMs === before.replicaLagMs) return;
    // Old versions were kept for the previous lag, or not at all, so every replica starts from the present state.
    for (const container of this.containers()) for (const range of container.ranges) range.commits = [];
  }

  /** Runs in one SQLite transaction; an exception undoes all of it. */
  transaction<T>(body: () => T): T {
    return this.#database.transaction(body).immediate();
  }

  /** The account's time, which clients see: the machine's time plus the admin's offset. */
  nowMs(): number {
    return this.#clock.now() + this.#offsetMs;
  }

  nowTs(): number {
    return Math.floor(this.nowMs() / 1000);
  }

  /** The machine's time, for budgets, signatures and waits, which the offset must not affect. */
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

  newEtag(): string {
    return `"${randomUUID()}"`;
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
  }

  /** The offer that pays for a container: its own, or its database's. */
  offerOf(container: ContainerModel): OfferModel | undefined {
    return this.offers.get(container.self) ?? this.offers.get(container.database.self);
  }

  /** RU/s of one range: an even share of the throughput, at most what one range can serve. */
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

  /** Admits a request, or refuses it with 429/3200 and the time to wait. */
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

  /** Forgets the bucket of a range that is gone; a budget shared by the database stays. */
  forgetSpending(container: ContainerModel, range: RangeModel): void {
    this.meter.forget(ownBucket(container, range));
  }

  spentBy(container: ContainerModel, range: RangeModel): ReturnType<RuMeter['spent']> {
    return this.meter.spent(this.#bucketOf(container, range).name);
  }
}

/** The name of the bucket of a range that has a budget of its own. */
function ownBucket(container: ContainerModel, range: RangeModel): string {
  return `${container.self}${range.id}`;
}
