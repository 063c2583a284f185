/**
 * Finds out what hashes stand for: entries have no texts, so documents whose key, id or unique values are to be shown are
 * read again from the feed. Invariant: a document is shown only if its hashes are those of the
 * entry. A document that was changed or deleted since is not found, and another one of the same value may be.
 */
import { forEachRange } from '../../cosmos/feed/each-range.ts';
import { ChangeFeed, type FeedPage } from '../../cosmos/feed/feed.ts';
import type { FeedRange } from '../../cosmos/feed/ranges.ts';
import { tokenOf, type Side } from '../../cosmos/side.ts';
import { latestVersionScan, type PageScan } from '../../documents/page-scan.ts';
import { decodeNumber, decodeText } from '../../documents/scalar.ts';
import type { KeyComponent } from '../../epk/effective-key.ts';
import { rekeyPaths } from '../../keys/rekey.ts';
import type { MeasureParts } from '../pass/candidate-measure.ts';
import { writeKeyWords } from '../pass/key-words.ts';
import { RowKey } from '../pass/row-key.ts';
import { positionAfter } from '../reading/stretches.ts';
import { UniquePage, type UniqueKey } from '../unique/unique-values.ts';
import type { ExactEntries } from './exact-entries.ts';

/** What is known of a document that is to be shown. */
export interface Sought {
  readonly candidate: number;
  /** Documents of which one is enough. */
  readonly numbers: readonly number[];
  /** The words of the hash of its key; with `uniqueKey`, those of the key and the unique values together. */
  readonly high: number;
  readonly low: number;
  readonly id?: readonly [high: number, low: number];
  readonly uniqueKey?: number;
}

/** A document as it is shown. */
export interface FoundDocument {
  readonly id: string;
  readonly key: string;
  /** The unique values, if it was sought by them. */
  readonly values: string;
}

export interface FinderParts {
  readonly side: Side;
  readonly entries: ExactEntries;
  readonly candidates: readonly MeasureParts[];
  readonly uniqueKeys: readonly UniqueKey[];
  readonly signal: AbortSignal;
}

export class DocumentFinder {
  readonly #parts: FinderParts;
  readonly #scan: PageScan;
  readonly #keys: readonly RowKey[];
  readonly #unique: UniquePage;

  constructor(parts: FinderParts) {
    this.#parts = parts;
    const { candidates, uniqueKeys } = parts;
    this.#scan = latestVersionScan([
      ...candidates.flatMap(({ plan }) => rekeyPaths(plan)),
      ...uniqueKeys.flatMap((key) => key.paths),
    ]);
    this.#keys = candidates.map((one) => new RowKey(this.#scan, one));
    this.#unique = new UniquePage(this.#scan, uniqueKeys);
  }

  /** Returns a document as it is shown; undefined: none of those that are known is what it was. */
  async find(sought: Sought): Promise<FoundDocument | undefined> {
    for (const number of sought.numbers) {
      // oxlint-disable-next-line no-await-in-loop -- the next one is needed only if this one is not found
      const shown = await this.#read(sought, number);
      if (shown !== undefined) return shown;
    }
    return undefined;
  }

  async #read(sought: Sought, number: number): Promise<FoundDocument | undefined> {
    const { side, entries, signal } = this.#parts;
    const { interval, lsn } = entries.addressOf(number);
    const [min, max] = interval;
    const ranges = side.ranges.list
      .filter((range) => range.min < max && range.max > min)
      .map((range): FeedRange => ({
        range,
        min: range.min > min ? range.min : min,
        max: range.max < max ? range.max : max,
      }));
    let shown: FoundDocument | undefined;
    const work = async (range: FeedRange, inner: AbortSignal): Promise<void> => {
      if (shown !== undefined) return;
      const { requests, governor, patience, timeoutMs } = side;
      const mode = 'latest-version';
      const etag = positionAfter(lsn - 1);
      const pages = new ChangeFeed(requests, { mode, range, pageSize: 1 }).parsedPages(
        etag === null ? 'beginning' : { mode, etag },
        {
          signal: inner,
          timeoutMs,
          governor,
          patience: patience.fresh(),
          sessionToken: () => tokenOf(side, range.range.id),
          parse: (page) => this.#search(page, lsn, sought),
        },
      );
      const { value } = await pages.next();
      shown ??= value;
    };
    await forEachRange(side, ranges, { limit: 1, signal, work });
    return shown;
  }

  #search(page: FeedPage, lsn: number, sought: Sought): FoundDocument | undefined {
    const found = page.status === 304 ? undefined : this.#searchIn(page.bytes, lsn, sought);
    page.free();
    return found;
  }

  #searchIn(bytes: Buffer, lsn: number, sought: Sought): FoundDocument | undefined {
    const scan = this.#scan.scan(bytes);
    const { nodes } = scan;
    for (let row = 0; row < scan.count; row += 1) {
      const at = scan.start(row, nodes.lsn);
      if (at === 0 || decodeNumber(bytes, at, scan.end(row, nodes.lsn)) !== lsn) continue;
      if (!this.#isIt(row, sought)) continue;
      const { show } = this.#parts.candidates[sought.candidate] ?? { show: String };
      const values: readonly KeyComponent[] =
        sought.uniqueKey === undefined ? [] : this.#unique.valuesOf(sought.uniqueKey, row);
      const key = this.#keys[sought.candidate]?.values ?? [];
      return { id: show([this.#idOf(row)]), key: show(key), values: show(values) };
    }
    return undefined;
  }

  #isIt(row: number, { candidate, high, low, id, uniqueKey }: Sought): boolean {
    const key = this.#keys[candidate];
    if (key?.read(row) !== true) return false;
    const [lowWord = 0, highWord = 0] = key.words.subarray(-2);
    const found = Int32Array.of(highWord, lowWord, 0);
    if (uniqueKey !== undefined) {
      this.#unique.read({ rows: Int32Array.of(row), count: 1 });
      this.#unique.pair(uniqueKey, 0, highWord, lowWord, found);
    }
    if (found[0] !== (high | 0) || found[1] !== (low | 0)) return false;
    if (id === undefined) return true;
    const words = new Int32Array(2);
    writeKeyWords([this.#idOf(row)], words);
    return words[1] === (id[0] | 0) && words[0] === (id[1] | 0);
  }

  #idOf(row: number): string {
    const scan = this.#scan;
    return decodeText(scan.page, scan.start(row, scan.nodes.id), scan.end(row, scan.nodes.id));
  }
}
