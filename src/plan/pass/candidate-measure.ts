/**
 * Measures one candidate over the rows of pages, whose keys the kernel has computed. A row that it could not read is
 * read by the code that would move the document, so a plan and a migration cannot disagree. Invariant: a saved measure
 * that is read again continues as if it had not been interrupted.
 */
import type { PageScan } from '../../documents/page-scan.ts';
import { decodeText } from '../../documents/scalar.ts';
import { positionOf, type KeyComponent, type KeyKind } from '../../epk/effective-key.ts';
import type { KeyPlan } from '../../keys/plan.ts';
import { noRefusals, type DocumentRefusal } from '../../keys/rekey.ts';
import { must } from '../../lib/assert.ts';
import { ROW_STATE, TYPES, type KeyColumn, type KeyColumns } from './key-columns.ts';
import { Positions } from './key-words.ts';
import { RowKey } from './row-key.ts';
import { FrequentKeys } from '../sketch/frequent-keys.ts';
import { HashHistogram } from '../sketch/hash-histogram.ts';
import { HeatMap } from '../sketch/heat-map.ts';
import { KeySample } from '../sketch/key-sample.ts';
import { mix } from '../sketch/mix.ts';
import { RepeatSample } from '../sketch/repeat-sample.ts';
import type { TypeCounts } from '../result.ts';
import { UniqueMeasure, type ConflictSink, type SavedConflicts } from '../unique/unique-measure.ts';
import type { UniquePage } from '../unique/unique-values.ts';
import { isTextDue, ValueTexts } from './key-texts.ts';

/** When the last hour and the last day began, in seconds since the epoch. */
export interface Recent {
  readonly hourTs: number;
  readonly dayTs: number;
}

/** A pair of documents that would get the same key and id. */
export interface CollisionExample {
  readonly id: string;
  readonly key: string;
}

/** The most slots that are remembered. */
const SLOTS_MAX = 65_536;
/** An odd number, so that different hashes stay different, with about as many ones as zeros. */
const ID_FACTOR = 0x9e37_79b9;
/** How many pairs of colliding documents are shown. */
const EXAMPLES_MAX = 5;
/** How many values with recent writes are counted apart. */
const RECENT_MAX = 8192;
/** A value with this share of all bytes is spread over the hash space exactly, not as a part of a sample. */
const HEAVY_SHARE = 1 / 4096;

export interface MeasureParts {
  readonly plan: KeyPlan;
  readonly kind: KeyKind;
  /** The end of the heat map in seconds since the epoch. */
  readonly endTs: number;
  /** Returns the text of a key value for people: the value itself, or its hash. */
  readonly show: (values: readonly KeyComponent[]) => string;
}

export class CandidateMeasure {
  documents = 0;
  missing = 0;
  readonly types: Record<keyof TypeCounts, number>;
  readonly refused: Record<DocumentRefusal['reason'], number>;
  /** A sample for each prefix of a hierarchical key; the last one is of whole keys. */
  readonly samples: readonly KeySample[];
  readonly biggest: FrequentKeys;
  readonly lastDay: FrequentKeys;
  readonly lastHour: FrequentKeys;
  readonly space: HashHistogram;
  readonly heat: HeatMap;
  /** Slots: what documents with the same new key and id share. */
  readonly slots: RepeatSample;
  readonly texts: ValueTexts;
  readonly collided: CollisionExample[];
  /** For each unique key of the container. */
  readonly unique: UniqueMeasure;
  readonly #scan: PageScan;
  readonly #key: RowKey;
  readonly #positions: Positions | undefined;
  readonly #parts: MeasureParts;

  /** `uniqueKeys`: how many unique keys the container has. */
  // oxlint-disable-next-line max-params -- three that all candidates share, and what was saved
  constructor(scan: PageScan, parts: MeasureParts, uniqueKeys: number, saved?: SavedMeasure) {
    const { plan, kind, endTs } = parts;
    this.#scan = scan;
    this.#parts = parts;
    this.#key = new RowKey(scan, parts);
    // The kernel computes the positions of version 2. In a hierarchical key, the first level decides the position.
    if (kind === 'hash-v1') this.#positions = new Positions();
    this.documents = saved?.documents ?? 0;
    this.missing = saved?.missing ?? 0;
    this.types = { ...noTypes(), ...saved?.types };
    this.refused = { ...noRefusals(), ...saved?.refused };
    this.samples =
      saved?.samples.map((bytes) => KeySample.fromBytes(bytes)) ??
      plan.targetPaths.map(() => new KeySample());
    const counters = (bytes: Buffer | undefined, size?: number): FrequentKeys =>
      bytes === undefined ? new FrequentKeys(size) : FrequentKeys.fromBytes(bytes, size);
    this.biggest = counters(saved?.biggest);
    this.lastDay = counters(saved?.lastDay, RECENT_MAX);
    this.lastHour = counters(saved?.lastHour, RECENT_MAX);
    this.space = saved === undefined ? new HashHistogram() : HashHistogram.fromBytes(saved.space);
    this.heat = saved === undefined ? new HeatMap(endTs) : HeatMap.fromBytes(saved.heat);
    this.slots =
      saved === undefined ? new RepeatSample(SLOTS_MAX) : RepeatSample.fromBytes(saved.slots, SLOTS_MAX);
    this.texts = new ValueTexts(saved?.texts);
    this.collided = [...(saved?.collided ?? [])];
    this.unique = new UniqueMeasure(uniqueKeys, saved?.unique);
  }

  /**
   * Adds the rows of a page; `column` is that of this candidate. Nothing is allocated for a row, as there are many. Each
   * sketch takes the whole page in a short loop of its own, so that the processor waits for the memory of several rows at
   * once.
   */
  take(columns: KeyColumns, column: KeyColumn, recent: Recent): void {
    this.#takeStates(columns, column);
    for (const [level, sample] of this.samples.entries())
      this.#takeSample(columns, column, { level, sample });
    this.#takeWeights(columns, column, recent);
    this.#takeSlots(columns, column);
  }

  #takeStates(columns: KeyColumns, column: KeyColumn): void {
    const { states } = column;
    for (let i = 0; i < columns.count; i += 1) {
      if (states[i] === ROW_STATE.odd && !this.#readOdd(columns, column, i)) continue;
      this.documents += 1;
      if (states[i] === ROW_STATE.keyWithoutValue) this.missing += 1;
    }
  }

  #takeSample(
    { count }: KeyColumns,
    { states, words }: KeyColumn,
    { level, sample }: { readonly level: number; readonly sample: KeySample },
  ): void {
    const { levels } = this.#key;
    for (let i = 0, at = 2 * level; i < count; i += 1, at += 2 * levels) {
      if (states[i] !== ROW_STATE.odd) sample.add(words[at + 1] ?? 0, words[at] ?? 0);
    }
  }

  #takeWeights(columns: KeyColumns, column: KeyColumn, { hourTs, dayTs }: Recent): void {
    const { states, words } = column;
    const { count, rows, bytes: sizes, ts: times } = columns;
    const { biggest } = this;
    const { levels } = this.#key;
    const sample = must(this.samples.at(-1), 'a key has a level');
    for (let i = 0, at = 2 * levels - 2; i < count; i += 1, at += 2 * levels) {
      if (states[i] === ROW_STATE.odd) continue;
      const low = words[at] ?? 0;
      const high = words[at + 1] ?? 0;
      const bytes = sizes[i] ?? 0;
      const ts = times[i] ?? 0;
      const row = rows[i] ?? 0;
      const counter = biggest.add(high, low, bytes);
      const weight = biggest.weightAt(counter);
      if (isTextDue(biggest.documentsAt(counter), weight, biggest.total)) this.#keepText(row, high, low);
      if (ts > dayTs) this.#countRecent(this.lastDay, row, high, low);
      if (ts > hourTs) this.#countRecent(this.lastHour, row, high, low);
      // A heavy value counts itself. A light one counts if the sample has it, and then stands for those that it has not.
      const isHeavy = weight >= biggest.total * HEAVY_SHARE;
      if (!isHeavy && !sample.isBelow(high)) continue;
      const standsFor = isHeavy ? 1 : 1 / sample.share;
      const position = this.#positionOf(column, i, row, high, low);
      this.space.add(position, bytes, ts > dayTs, standsFor);
      this.heat.add(position, ts, standsFor);
    }
  }

  #takeSlots({ count, rows, ids }: KeyColumns, { states, words }: KeyColumn): void {
    const { slots } = this;
    const { levels } = this.#key;
    for (let i = 0, at = 2 * levels - 2; i < count; i += 1, at += 2 * levels) {
      if (states[i] === ROW_STATE.odd) continue;
      // The hash of the id is multiplied first: under the candidate /id it is the same as that of the key.
      const high = mix(Math.imul(ids[2 * i + 1] ?? 0, ID_FACTOR) ^ (words[at + 1] ?? 0));
      const low = mix(Math.imul(ids[2 * i] ?? 0, ID_FACTOR) ^ (words[at] ?? 0));
      if (slots.add(high, low)) this.#keepCollision(rows[i] ?? 0);
    }
  }

  /** Adds the rows of the last page to the conflicts of unique keys. Called after `take`, which completes the column. */
  takeUnique(columns: KeyColumns, column: KeyColumn, page: UniquePage, sink?: ConflictSink): void {
    this.unique.take(columns, column, {
      page,
      sink,
      id: (row) => this.#parts.show([this.#idOf(row)]),
      key: (row) => this.#textOf(row),
      values: (values) => this.#parts.show(values),
    });
  }

  /** Adds the types of the values on a page, in the order of `TYPES`. */
  addTypes(counts: Int32Array): void {
    for (const [number, type] of TYPES.entries()) this.types[type] += counts[number] ?? 0;
  }

  /** Reads a row with the code that moves documents, and completes its columns. Returns false if it has no key. */
  #readOdd({ rows }: KeyColumns, { states, words, positions }: KeyColumn, i: number): boolean {
    const key = this.#key;
    if (!key.read(rows[i] ?? 0)) {
      this.refused[must(key.refusal, 'what has no key has a reason').reason] += 1;
      return false;
    }
    words.set(key.words, 2 * key.levels * i);
    positions[i] = positionOf('multi-hash', key.values.slice(0, 1));
    states[i] = key.values.includes(undefined) ? ROW_STATE.keyWithoutValue : ROW_STATE.key;
    return true;
  }

  // oxlint-disable-next-line max-params -- an object for each document would cost more than counting it
  #positionOf({ positions }: KeyColumn, i: number, row: number, high: number, low: number): number {
    if (this.#positions === undefined) return positions[i] ?? 0;
    return this.#positions.of(high, low, () => positionOf(this.#parts.kind, this.#key.valuesOf(row)));
  }

  #keepCollision(row: number): void {
    if (this.collided.length >= EXAMPLES_MAX) return;
    const found = { id: this.#parts.show([this.#idOf(row)]), key: this.#textOf(row) };
    if (!this.collided.some(({ id, key }) => id === found.id && key === found.key)) this.collided.push(found);
  }

  // oxlint-disable-next-line max-params -- an object for each document would cost more than counting it
  #countRecent(keys: FrequentKeys, row: number, high: number, low: number): void {
    const at = keys.add(high, low, 1);
    if (isTextDue(keys.documentsAt(at), keys.weightAt(at), keys.total)) this.#keepText(row, high, low);
  }

  #keepText(row: number, high: number, low: number): void {
    if (!this.texts.has(high, low)) this.texts.keep(high, low, this.#textOf(row));
  }

  #textOf(row: number): string {
    return this.#parts.show(this.#key.valuesOf(row));
  }

  #idOf(row: number): string {
    const scan = this.#scan;
    return decodeText(scan.page, scan.start(row, scan.nodes.id), scan.end(row, scan.nodes.id));
  }

  save(): SavedMeasure {
    return {
      documents: this.documents,
      missing: this.missing,
      types: { ...this.types },
      refused: { ...this.refused },
      samples: this.samples.map((sample) => sample.toBytes()),
      biggest: this.biggest.toBytes(),
      lastDay: this.lastDay.toBytes(),
      lastHour: this.lastHour.toBytes(),
      space: this.space.toBytes(),
      heat: this.heat.toBytes(),
      slots: this.slots.toBytes(),
      texts: this.texts.toJson(),
      collided: [...this.collided],
      unique: this.unique.save(),
    };
  }
}

/** A measure as it is stored between two runs. */
export interface SavedMeasure {
  readonly documents: number;
  readonly missing: number;
  readonly types: Readonly<Record<keyof TypeCounts, number>>;
  readonly refused: Readonly<Record<DocumentRefusal['reason'], number>>;
  readonly samples: readonly Buffer[];
  readonly biggest: Buffer;
  readonly lastDay: Buffer;
  readonly lastHour: Buffer;
  readonly space: Buffer;
  readonly heat: Buffer;
  readonly slots: Buffer;
  readonly texts: ReadonlyArray<readonly [string, string]>;
  readonly collided: readonly CollisionExample[];
  readonly unique: readonly SavedConflicts[];
}

function noTypes(): Record<keyof TypeCounts, number> {
  return { text: 0, number: 0, boolean: 0, null: 0, missing: 0, object: 0, array: 0 };
}
