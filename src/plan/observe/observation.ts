/**
 * What the pages of a followed feed say about each candidate: writes for each value, updates that would move their
 * document, and batches whose documents would no longer share a key. A feed shows the new version of a document only, so
 * moves are counted among the updates of documents that were seen before.
 */
import { latestVersionScan, type PageScan } from '../../documents/page-scan.ts';
import { decodeNumber } from '../../documents/scalar.ts';
import { RowIdentity } from '../../documents/identity.ts';
import type { KeyComponent, KeyKind } from '../../epk/effective-key.ts';
import type { KeyPlan } from '../../keys/plan.ts';
import { rekeyPaths } from '../../keys/rekey.ts';
import { must } from '../../lib/assert.ts';
import { isTextDue, ValueTexts } from '../pass/key-texts.ts';
import { RowKey } from '../pass/row-key.ts';
import type { ObservedFigures } from '../result.ts';
import { FrequentKeys } from '../sketch/frequent-keys.ts';
import { HashTable } from '../sketch/hash-table.ts';

/** How many documents are remembered with their keys. Later ones count as writes, but not as moves. */
const DOCUMENTS_MAX = 100_000;
const WORDS = 4;

export interface ObservedCandidate {
  readonly plan: KeyPlan;
  readonly kind: KeyKind;
  readonly show: (values: readonly KeyComponent[]) => string;
}

interface Counted {
  readonly parts: ObservedCandidate;
  readonly key: RowKey;
  readonly writes: FrequentKeys;
  readonly texts: ValueTexts;
  moves: number;
  broken: number;
}

export class Observation {
  writes = 0;
  /** Updates of documents that were seen before, of which some are moves. */
  updates = 0;
  batches = 0;
  readonly #scan: PageScan;
  readonly #identity: RowIdentity;
  readonly #present: RowKey;
  readonly #candidates: readonly Counted[];
  /** For each document, two words of its key under each candidate. */
  readonly #seen: HashTable;
  readonly #hash = new Uint32Array(WORDS);

  /** `sourcePaths` are the key paths of the container. The first candidate is its present key. */
  constructor(candidates: readonly ObservedCandidate[], sourcePaths: readonly (readonly string[])[]) {
    const present = must(candidates[0], 'the present key is a candidate');
    this.#scan = latestVersionScan([...sourcePaths, ...candidates.flatMap(({ plan }) => rekeyPaths(plan))]);
    this.#identity = new RowIdentity(this.#scan, sourcePaths);
    this.#present = new RowKey(this.#scan, present);
    this.#seen = new HashTable(candidates.length * 2);
    this.#candidates = candidates.map((parts) => ({
      parts,
      key: new RowKey(this.#scan, parts),
      writes: new FrequentKeys(),
      texts: new ValueTexts(),
      moves: 0,
      broken: 0,
    }));
  }

  /** Adds a page of changes. */
  take(page: Buffer): void {
    const scan = this.#scan.scan(page);
    for (let row = 0; row < scan.count; row += 1) this.#add(row);
    this.#countBatches();
  }

  /** Returns the figures of each candidate after some seconds; `writeRu` is what a write of an average document costs. */
  figures(seconds: number, writeRu: number): ObservedFigures[] {
    return this.#candidates.map(({ writes, texts, moves, broken }) => {
      const [first] = writes.heaviest(1);
      const perSecond = first === undefined || seconds <= 0 ? 0 : first.documents.low / seconds;
      return {
        hottest:
          first === undefined
            ? null
            : {
                value: texts.of(first.high, first.low),
                writesPerSecond: perSecond,
                ruPerSecond: perSecond * writeRu,
              },
        movesShare: this.updates === 0 ? 0 : moves / this.updates,
        brokenBatches: { broken, seen: this.batches },
      };
    });
  }

  #add(row: number): void {
    this.writes += 1;
    this.#identity.read(row, this.#hash, 0);
    const [high, low] = [this.#hash[0] ?? 0, this.#hash[1] ?? 0];
    const isKnown = this.#seen.lookUp(high, low) >= 0;
    if (isKnown) this.updates += 1;
    const at = isKnown || this.#seen.count < DOCUMENTS_MAX ? this.#seen.addDocuments(high, low) : -1;
    for (const [column, candidate] of this.#candidates.entries()) {
      const { key, writes, texts, parts } = candidate;
      if (!key.read(row)) continue;
      const last = (key.levels - 1) * 2;
      const [other, one] = [key.words[last] ?? 0, key.words[last + 1] ?? 0];
      const entry = writes.add(one, other, 1);
      if (
        isTextDue(writes.documentsAt(entry), writes.weightAt(entry), writes.total) &&
        !texts.has(one, other)
      )
        texts.keep(one, other, parts.show(key.values));
      if (at < 0) continue;
      if (
        isKnown &&
        (this.#seen.value(at, column * 2) !== one || this.#seen.value(at, column * 2 + 1) !== other)
      )
        candidate.moves += 1;
      this.#seen.set(at, column * 2, one);
      this.#seen.set(at, column * 2 + 1, other);
    }
  }

  /** Documents of one transaction have one LSN and one key. They follow one another on a page. */
  #countBatches(): void {
    const scan = this.#scan;
    for (let first = 0; first < scan.count;) {
      let end = first + 1;
      while (
        end < scan.count &&
        this.#lsnOf(end) === this.#lsnOf(first) &&
        this.#sharesKey(this.#present, first, end)
      )
        end += 1;
      if (end - first > 1) {
        this.batches += 1;
        for (const candidate of this.#candidates)
          for (let row = first + 1; row < end; row += 1)
            if (!this.#sharesKey(candidate.key, first, row)) {
              candidate.broken += 1;
              break;
            }
      }
      first = end;
    }
  }

  #sharesKey(key: RowKey, one: number, other: number): boolean {
    const last = (key.levels - 1) * 2;
    if (!key.read(one)) return false;
    const [high, low] = [key.words[last], key.words[last + 1]];
    return key.read(other) && key.words[last] === high && key.words[last + 1] === low;
  }

  #lsnOf(row: number): number {
    const { lsn } = this.#scan.nodes;
    const start = this.#scan.start(row, lsn);
    return start === 0 ? 0 : decodeNumber(this.#scan.page, start, this.#scan.end(row, lsn));
  }
}
