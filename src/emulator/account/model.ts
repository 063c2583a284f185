/**
 * The account's databases, containers and offers in memory.
 *
 * Invariant: the stores hold the same state durably. The memory changes only after a commit.
 */
import { must } from '../../lib/assert.ts';
import type { ContainerRow, DatabaseRow, RangeRow } from '../storage/catalog-store.ts';
import { parseDefinition, type ContainerDefinition } from './container-definition.ts';
import type { JsonObject } from '../json/json-value.ts';
import type { OfferHistory, ProvisionedThroughput } from '../partitions/offers.ts';
import { rangeFromRow, type RangeModel } from '../partitions/ranges.ts';
import { childRidMaker } from '../storage/resource-ids.ts';

export interface OfferModel {
  readonly id: string;
  /** The `_self` of the database or container that the offer pays for. */
  readonly resource: string;
  readonly offerResourceId: string;
  throughput: ProvisionedThroughput;
  history: OfferHistory;
  etag: string;
  ts: number;
  /**
   * The machine time at which the ranges for a raised throughput are created. Until that time the old ranges serve the
   * requests. Undefined: no ranges are to be created.
   */
  pendingUntilMs: number | undefined;
}

export interface DatabaseModel extends Readonly<Omit<DatabaseRow, 'body'>> {
  readonly self: string;
  readonly link: string;
  readonly body: JsonObject;
  readonly containers: Map<string, ContainerModel>;
}

export function databaseModel({ body, ...row }: DatabaseRow): DatabaseModel {
  const names = { self: `dbs/${row.rid}/`, link: `dbs/${row.id}` };
  return { ...row, ...names, body: JSON.parse(body) as JsonObject, containers: new Map() };
}

export class ContainerModel {
  readonly number: number;
  readonly database: DatabaseModel;
  readonly id: string;
  readonly rid: string;
  readonly self: string;
  readonly documentRid: (item: number) => string;
  body: JsonObject;
  definition: ContainerDefinition;
  etag: string;
  ts: number;
  nextRange: number;
  nextItem: number;
  /** The current ranges, sorted by `min`. They cover the hash space without gaps or overlaps. */
  ranges: readonly RangeModel[];
  /** The ranges before the latest split or merge, for the stale list that a fault rule can ask for. */
  previousRanges: readonly RangeModel[];

  constructor(row: ContainerRow, database: DatabaseModel, ranges: readonly RangeRow[]) {
    this.number = row.number;
    this.database = database;
    this.id = row.id;
    this.rid = row.rid;
    this.self = `${database.self}colls/${row.rid}/`;
    this.documentRid = childRidMaker(database.number, row.number, 'document');
    this.body = JSON.parse(row.body) as JsonObject;
    this.definition = parseDefinition(this.body);
    this.etag = row.etag;
    this.ts = row.ts;
    this.nextRange = row.next_range;
    this.nextItem = row.next_item;
    this.ranges = ranges.map(rangeFromRow);
    this.previousRanges = this.ranges;
  }

  get link(): string {
    return `${this.database.link}/colls/${this.id}`;
  }

  get documents(): number {
    return this.ranges.reduce((sum, range) => sum + range.documents, 0);
  }

  get bytes(): number {
    return this.ranges.reduce((sum, range) => sum + range.bytes, 0);
  }

  replaceRanges(gone: readonly RangeModel[], come: readonly RangeModel[]): void {
    this.previousRanges = this.ranges;
    this.ranges = [...this.ranges.filter((range) => !gone.includes(range)), ...come].sort((a, b) =>
      a.min < b.min ? -1 : 1,
    );
    this.nextRange = Math.max(this.nextRange, ...come.map((range) => range.id + 1));
    must(this.ranges[0], 'a container keeps at least one range');
  }
}
