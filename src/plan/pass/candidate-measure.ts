/**
 * Measures one candidate over the rows of pages. The key of a row is computed by the code that would move the document,
 * so a plan and a migration cannot disagree. Invariant: a saved measure that is read again continues as if it had not
 * been interrupted.
 */
import type { PageScan } from '../../documents/page-scan.ts';
import { decodeText } from '../../documents/scalar.ts';
import type { KeyComponent, KeyKind } from '../../epk/effective-key.ts';
import { isSamePath } from '../../keys/path.ts';
import type { KeyPlan } from '../../keys/plan.ts';
import type { DocumentRefusal } from '../../keys/rekey.ts';
import { must } from '../../lib/assert.ts';
import type { RowHashes } from './row-hashes.ts';
import { RowKey } from './row-key.ts';
import { FrequentKeys } from '../sketch/frequent-keys.ts';
import { HashHistogram } from '../sketch/hash-histogram.ts';
import { HeatMap } from '../sketch/heat-map.ts';
import { KeySample } from '../sketch/key-sample.ts';
import { PairSample } from '../sketch/pair-sample.ts';
import type { TypeCounts } from '../result.ts';
import { isTextDue, ValueTexts } from './key-texts.ts';

/** What all candidates need to know of a row. */
export interface RowFacts {
  row: number;
  bytes: number;
  /** When the document was last written, in seconds since the epoch. */
  ts: number;
  /** The first word of the hash of its id. */
  idWord: number;
  isOfLastDay: boolean;
  isOfLastHour: boolean;
}

/** A pair of documents that would get the same key and id. */
export interface CollisionExample {
  readonly id: string;
  readonly key: string;
}

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
  readonly pairs: PairSample;
  readonly texts: ValueTexts;
  readonly collided: CollisionExample[];
  readonly #scan: PageScan;
  readonly #key: RowKey;
  readonly #slot = new Int32Array(2);
  readonly #position = (): number => this.#key.position();
  /** The nodes of the levels that are properties of the document. */
  readonly #read: readonly number[];
  readonly #parts: MeasureParts;

  constructor(scan: PageScan, hashes: RowHashes, parts: MeasureParts, saved?: SavedMeasure) {
    const { plan, endTs } = parts;
    this.#scan = scan;
    this.#parts = parts;
    this.#key = new RowKey(scan, hashes, parts);
    this.#read = plan.targetPaths
      .filter((path) => !plan.additionPaths.some((added) => isSamePath(added, path)))
      .map((path) => scan.nodeAt(path));
    const levels = plan.targetPaths.length;
    this.documents = saved?.documents ?? 0;
    this.missing = saved?.missing ?? 0;
    this.types = { ...noTypes(), ...saved?.types };
    this.refused = { ...noRefusals(), ...saved?.refused };
    this.samples =
      saved?.samples.map((bytes) => KeySample.fromBytes(bytes)) ??
      Array.from({ length: levels }, () => new KeySample());
    const counters = (bytes: Buffer | undefined, size?: number): FrequentKeys =>
      bytes === undefined ? new FrequentKeys(size) : FrequentKeys.fromBytes(bytes, size);
    this.biggest = counters(saved?.biggest);
    this.lastDay = counters(saved?.lastDay, RECENT_MAX);
    this.lastHour = counters(saved?.lastHour, RECENT_MAX);
    this.space = saved === undefined ? new HashHistogram() : HashHistogram.fromBytes(saved.space);
    this.heat = saved === undefined ? new HeatMap(endTs) : HeatMap.fromBytes(saved.heat);
    this.pairs = saved === undefined ? new PairSample() : PairSample.fromBytes(saved.pairs);
    this.texts = new ValueTexts(saved?.texts);
    this.collided = [...(saved?.collided ?? [])];
  }

  /** Adds a row. Nothing is allocated for it, because this is done for each document and candidate. */
  add(facts: Readonly<RowFacts>): void {
    const { row, bytes } = facts;
    this.#countTypes(row);
    const key = this.#key;
    if (!key.read(row)) {
      this.refused[must(key.refusal, 'what has no key has a reason').reason] += 1;
      return;
    }
    this.documents += 1;
    if (key.isMissing) this.missing += 1;
    const { words, levels } = key;
    const samples = this.samples;
    let sampled = -1;
    for (let level = 0; level < levels; level += 1)
      sampled = samples[level]?.add(words[level * 2] ?? 0, words[level * 2 + 1] ?? 0, bytes) ?? -1;
    const high = words[levels * 2 - 2] ?? 0;
    const low = words[levels * 2 - 1] ?? 0;
    const at = this.#count(this.biggest, high, low, bytes);
    if (facts.isOfLastDay) this.#count(this.lastDay, high, low, 1);
    if (facts.isOfLastHour) this.#count(this.lastHour, high, low, 1);
    // A heavy value counts itself. A light one counts if the sample has it, and then stands for those that it has not.
    if (this.biggest.weightAt(at) >= this.biggest.total * HEAVY_SHARE)
      this.#spread(facts, this.biggest.positionAt(at, this.#position), 1);
    else if (sampled >= 0) {
      const sample = must(samples[levels - 1], 'each level has its sample');
      this.#spread(facts, sample.positionAt(sampled, this.#position), 1 / sample.share);
    }
    if (this.pairs.takes(facts.idWord)) this.#pair(facts);
  }

  #pair({ row, idWord }: Readonly<RowFacts>): void {
    const key = this.#key;
    key.slot(this.#slot);
    const isCollision = this.pairs.add(idWord, this.#slot[0] ?? 0, this.#slot[1] ?? 0);
    if (isCollision && this.collided.length < EXAMPLES_MAX)
      this.collided.push({ id: this.#parts.show([this.#idOf(row)]), key: this.#parts.show(key.values()) });
  }

  #spread({ bytes, ts, isOfLastDay }: Readonly<RowFacts>, firstWord: number, times: number): void {
    this.space.add(firstWord, bytes, isOfLastDay, times);
    this.heat.add(firstWord, ts, times);
  }

  // oxlint-disable-next-line max-params -- an object for each document would cost more than counting it
  #count(keys: FrequentKeys, high: number, low: number, weight: number): number {
    const at = keys.add(high, low, weight);
    if (isTextDue(keys.documentsAt(at), keys.weightAt(at), keys.total) && !this.texts.has(high, low))
      this.texts.keep(high, low, this.#parts.show(this.#key.values()));
    return at;
  }

  /** Counts the kinds of the values at the key paths; a derived value is always a text. */
  #countTypes(row: number): void {
    const scan = this.#scan;
    const read = this.#read;
    for (let i = 0; i < read.length; i += 1) {
      const start = scan.start(row, read[i] ?? 0);
      this.types[start === 0 ? 'missing' : kindAt(scan.page, start)] += 1;
    }
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
      pairs: this.pairs.toBytes(),
      texts: this.texts.toJson(),
      collided: [...this.collided],
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
  readonly pairs: Buffer;
  readonly texts: ReadonlyArray<readonly [string, string]>;
  readonly collided: readonly CollisionExample[];
}

function noTypes(): Record<keyof TypeCounts, number> {
  return { text: 0, number: 0, boolean: 0, null: 0, missing: 0, object: 0, array: 0 };
}

function noRefusals(): Record<DocumentRefusal['reason'], number> {
  return {
    'missing-key': 0,
    'invalid-key': 0,
    'key-conflict': 0,
    'too-large': 0,
    'key-too-long': 0,
    'bad-id': 0,
  };
}

/** Returns the kind of the JSON value that begins at an offset, by its first byte. */
function kindAt(page: Buffer, start: number): keyof TypeCounts {
  switch (page[start]) {
    case 0x22:
      return 'text';
    case 0x7b:
      return 'object';
    case 0x5b:
      return 'array';
    case 0x74:
    case 0x66:
      return 'boolean';
    case 0x6e:
      return 'null';
    default:
      return 'number';
  }
}
