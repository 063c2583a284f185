/**
 * Adds the rows of an export to calls. A row is either an aggregate, as the query of `--print-kql` makes them, or a
 * single line of a log. Invariant: rows of another container never count.
 */
import { UsageError } from '../../../lib/errors.ts';
import { memberOf } from '../../../lib/json/json.ts';
import { conditionsOf } from '../query/conditions.ts';
import { withoutValues } from '../query/tokens.ts';
import { doingOf, obfuscationOf, type WorkloadCall, type Workload } from '../workload.ts';
import type { Row } from './columns.ts';

/** The container for which a plan is made. */
export interface ContainerOfPlan {
  readonly database: string;
  readonly container: string;
}

/** How many single requests of logs are joined in memory. */
const REQUESTS_MAX = 300_000;
/** The time that a file covers if it has no times: the query of `--print-kql` looks back one day. */
const DAY = 86_400;
/** Times closer than this say nothing about a rate. */
const MINUTE = 60;
const HOTTEST_MAX = 10;
/** How many calls with different texts are kept. */
const CALLS_MAX = 20_000;
const PRINT_KQL = 'run the query of cosmig plan --print-kql, which aggregates, and export its result';

/** A query in the log: its text, the partitions it asked, and the requests it made. */
interface Logged {
  readonly text: string;
  readonly ranges: Set<string>;
  readonly activities: Set<string>;
}

interface Sums {
  readonly call: Pick<WorkloadCall, 'text' | 'does'>;
  executions: number;
  ru: number;
  /** The executions with known RU, and with known partitions. */
  charged: number;
  partitions: number;
  counted: number;
}

export class WorkloadTally {
  skipped = 0;
  readonly notes: string[] = [];
  readonly #of: ContainerOfPlan;
  readonly #name: string;
  readonly #calls = new Map<string, Sums>();
  readonly #keys = new Map<string, number>();
  readonly #logged = new Map<string, Logged>();
  readonly #charges = new Map<string, number>();
  #seconds = 0;
  readonly #times = { first: Number.POSITIVE_INFINITY, last: Number.NEGATIVE_INFINITY };
  #rows = 0;
  #others = 0;
  #other = '';

  constructor(of: ContainerOfPlan, name: string) {
    this.#of = of;
    this.#name = name;
  }

  add(row: Row): void {
    if (this.#isOther(row)) return;
    this.#rows += 1;
    const executions = numberOf(row.executions);
    const ru = numberOf(row.ru);
    const seconds = numberOf(row.seconds);
    const partitions = numberOf(row.partitions);
    if ([executions, ru, seconds, partitions].includes(null)) {
      this.skipped += 1;
      return;
    }
    this.#seconds = Math.max(this.#seconds, seconds ?? 0);
    this.#addTime(row.time);
    if (row.query !== undefined) this.#addQuery(row.query, row, { executions, ru, partitions });
    else if (row.key !== undefined) this.#addKey(row.key, ru ?? 0);
    else if (row.operation !== undefined) this.#addOperation(row.operation, row, { executions, ru });
    else this.skipped += 1;
  }

  #isOther({ database, container }: Row): boolean {
    const isSame = (one: string | undefined, other: string): boolean =>
      one === undefined || one.toLowerCase() === other.toLowerCase();
    if (isSame(database, this.#of.database) && isSame(container, this.#of.container)) return false;
    this.#others += 1;
    this.#other ||= [database, container].filter((one) => one !== undefined).join('/');
    return true;
  }

  #addTime(text: string | undefined): void {
    if (text === undefined) return;
    // The portal writes times such as 11/19/2026, 2:10:36.482 PM, in UTC.
    const seconds = Date.parse(/(?:[Zz]|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text} UTC`) / 1000;
    const time = Number.isNaN(seconds) ? Date.parse(`${text}Z`) / 1000 : seconds;
    if (Number.isNaN(time)) return;
    this.#times.first = Math.min(this.#times.first, time);
    this.#times.last = Math.max(this.#times.last, time);
  }

  #addQuery(
    given: string,
    row: Row,
    { executions, ru, partitions }: Readonly<Record<'executions' | 'ru' | 'partitions', Figure>>,
  ): void {
    const text = queryIn(given);
    const id = row.correlated ?? row.activity;
    if (executions !== undefined || id === undefined) {
      this.#addCall(text, { executions: executions ?? 1, ru, partitions });
      return;
    }
    let logged = this.#logged.get(id);
    if (logged === undefined) {
      logged = { text, ranges: new Set(), activities: new Set() };
      this.#logged.set(id, logged);
      this.#refuseTooMany();
    }
    if (row.range !== undefined) logged.ranges.add(row.range);
    if (row.activity !== undefined) logged.activities.add(row.activity);
  }

  #addKey(key: string, ru: number): void {
    if (ru === 0) return;
    // A file with millions of keys has its hottest ones early, since the exports are sorted.
    if (this.#keys.size < REQUESTS_MAX || this.#keys.has(key))
      this.#keys.set(key, (this.#keys.get(key) ?? 0) + ru);
  }

  #addOperation(
    operation: string,
    { activity, resourceType }: Row,
    { executions, ru }: Readonly<Record<'executions' | 'ru', Figure>>,
  ): void {
    if (resourceType !== undefined && !/document|item/i.test(resourceType)) return;
    const does = doingOf(operation);
    if (does === null) {
      // A request of a query, whose text is in another row.
      if (executions !== undefined || activity === undefined || typeof ru !== 'number') return;
      this.#charges.set(activity, (this.#charges.get(activity) ?? 0) + ru);
      this.#refuseTooMany();
      return;
    }
    const call = { text: operation, does };
    this.#addTo(`operation ${operation.toLowerCase()}`, call, { executions: executions ?? 1, ru });
  }

  #addCall(query: string, figures: Readonly<Record<'executions' | 'ru' | 'partitions', Figure>>): void {
    const conditions = conditionsOf(query) ?? null;
    const text = withoutValues(query);
    // A list with two values asks fewer partitions than one with ten.
    const shape = JSON.stringify([text, conditions?.alternatives.map((one) => [...one]) ?? null]);
    this.#addTo(shape, { text, does: { kind: 'query', conditions } }, figures);
  }

  #addTo(
    shape: string,
    call: Sums['call'],
    { executions, ru, partitions }: { executions: Figure; ru?: Figure; partitions?: Figure },
  ): void {
    const count = executions ?? 0;
    if (count === 0) return;
    let sums = this.#calls.get(shape);
    if (sums === undefined) {
      if (this.#calls.size >= CALLS_MAX) {
        this.skipped += 1;
        return;
      }
      sums = { call, executions: 0, ru: 0, charged: 0, partitions: 0, counted: 0 };
      this.#calls.set(shape, sums);
    }
    sums.executions += count;
    if (typeof ru === 'number') {
      sums.ru += ru;
      sums.charged += count;
    }
    if (typeof partitions === 'number') {
      sums.partitions += partitions * count;
      sums.counted += count;
    }
  }

  #refuseTooMany(): void {
    if (this.#logged.size + this.#charges.size <= REQUESTS_MAX) return;
    throw new UsageError(`${this.#name} has too many requests`, {
      why: `it is a raw log, of which at most ${REQUESTS_MAX} requests can be read`,
      hint: PRINT_KQL,
    });
  }

  finish(): Workload {
    if (this.#rows === 0 && this.#others > 0)
      throw new UsageError(`${this.#name} is about another container`, {
        why: `its rows are about ${this.#other}, and the plan is about ${this.#of.database}/${this.#of.container}`,
        hint: 'name the file that was exported for this container',
      });
    for (const { text, ranges, activities } of this.#logged.values()) {
      const charges = [...activities].flatMap((one) => this.#charges.get(one) ?? []);
      const ru = charges.length === 0 ? undefined : charges.reduce((sum, one) => sum + one, 0);
      const partitions = ranges.size === 0 ? undefined : ranges.size;
      this.#addCall(text, { executions: 1, ru, partitions });
    }
    const calls = [...this.#calls.values()]
      .map(callOf)
      .toSorted((one, other) => other.executions - one.executions);
    if (calls.length === 0)
      throw new UsageError(`${this.#name} has no queries and no operations`, {
        why: 'no row has a column QueryText or OperationName with a value',
        hint: PRINT_KQL,
      });
    const seconds = this.#secondsOf();
    if (this.#others > 0) this.notes.push(`${this.#others} rows about other containers were left out`);
    return {
      file: this.#name,
      calls,
      seconds,
      hottestKeys: [...this.#keys]
        .toSorted(([, one], [, other]) => other - one)
        .slice(0, HOTTEST_MAX)
        .map(([value, ru]) => ({ value, ruPerSecond: ru / seconds })),
      skipped: this.skipped,
      notes: this.notes,
      obfuscated: obfuscationOf(calls),
    };
  }

  #secondsOf(): number {
    if (this.#seconds > 0) return this.#seconds;
    const span = this.#times.last - this.#times.first;
    if (span >= MINUTE) return span;
    this.notes.push('the file does not say which time it covers, so one day is assumed');
    return DAY;
  }
}

/** A number of a row; undefined: the row has none; null: it is not a number that can be used. */
type Figure = number | undefined | null;

function numberOf(text: string | undefined): Figure {
  if (text === undefined) return undefined;
  const value = /^\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(text.trim()) ? Number(text) : Number.NaN;
  return Number.isFinite(value) ? value : null;
}

/** Logs have a query as `{"query":"...","parameters":[...]}`. The parameters are not kept. */
function queryIn(text: string): string {
  if (!text.trimStart().startsWith('{')) return text;
  try {
    const query = memberOf(JSON.parse(text), 'query');
    return typeof query === 'string' ? query : text;
  } catch {
    // The log cuts long texts, and then they are not JSON.
    return text;
  }
}

function callOf({ call, executions, ru, charged, partitions, counted }: Sums): WorkloadCall {
  return {
    ...call,
    executions,
    // Calls without a charge cost what the others cost.
    ru: charged === 0 ? null : (ru * executions) / charged,
    partitions: counted === 0 ? null : partitions / counted,
    results: null,
    knows: [],
    namesKey: false,
  };
}
