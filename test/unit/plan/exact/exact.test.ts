/** The entries of `--exact`, counted from the disk, against counts that are made document by document. */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { parseCandidate, planOf } from '../../../../src/plan/candidates/candidate.ts';
import { countConflicts } from '../../../../src/plan/exact/count-conflicts.ts';
import { countKeys } from '../../../../src/plan/exact/count-keys.ts';
import { entryBytes, ExactEntries, type ExactLayout } from '../../../../src/plan/exact/exact-entries.ts';
import { ExactFile, type ExactChunk } from '../../../../src/plan/exact/exact-file.ts';
import type { MeasureParts } from '../../../../src/plan/pass/candidate-measure.ts';
import { PageMeasure } from '../../../../src/plan/pass/page-measure.ts';
import { uniqueKeysOf } from '../../../../src/plan/unique/unique-values.ts';
import { valueAt } from '../../../../src/keys/path.ts';
import { draws } from '../../../helpers/generated.ts';

const NOW = 1_790_000_000;
const signal = new AbortController().signal;
const folder = mkdtempSync(join(tmpdir(), 'cosmig-exact-'));
const path = join(folder, 'plan-exact');
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(() => rmSync(path, { force: true }));

const KEYS = ['/k', '/t,/k', '/d={t}-{k}'];
const UNIQUE = uniqueKeysOf({ uniqueKeys: [{ paths: ['/u'] }, { paths: ['/u', '/n/v'] }] });
const LAYOUT: ExactLayout = { levels: [1, 2, 1], uniqueKeys: UNIQUE.length };

const parts = KEYS.map((text): MeasureParts => {
  const candidate = parseCandidate(text);
  const kind = candidate.paths.length > 1 ? 'multi-hash' : 'hash-v2';
  return { plan: planOf(candidate, ['/p']), kind, endTs: NOW, show: (values) => JSON.stringify(values) };
});

interface Sample {
  readonly id: string;
  readonly t: string;
  readonly k?: unknown;
  readonly u?: unknown;
  readonly n?: unknown;
  readonly ageSeconds: number;
}

const long = 'x'.repeat(1500);
const sample: fc.Arbitrary<Sample> = fc.record(
  {
    id: fc.constantFrom('a', 'b', 'c', 'd', '\ud800', 'é"\\'),
    t: fc.constantFrom('T', 'U', ''),
    k: fc.constantFrom('1', 1, 1.5, -0, true, false, null, '', 'é\n', long, {}, [1]),
    u: fc.constantFrom('1', 1, null, true, '', { v: 1 }, { v: 2 }, [1], 'null'),
    n: fc.constantFrom({ v: 1 }, { v: null }, {}, 7),
    ageSeconds: fc.constantFrom(10, 5000, 200_000),
  },
  { requiredKeys: ['id', 't', 'ageSeconds'] },
);

function documentsOf(all: readonly Sample[], firstLsn: number): string[] {
  return all.map(({ ageSeconds, ...own }, i) =>
    JSON.stringify({ ...own, _ts: NOW - ageSeconds, _lsn: firstLsn + i }),
  );
}

/** A pass over pages, with a checkpoint after some of them. It may be killed and resumed at any of them. */
class Pass {
  chunks: ExactChunk[] = [];
  #file = new ExactFile(path);
  entries: ExactEntries;
  measure: PageMeasure;
  #saved: ConstructorParameters<typeof PageMeasure>[2] = {};

  constructor() {
    this.entries = new ExactEntries(this.#file, LAYOUT, []);
    this.measure = this.#begin();
  }

  take(page: string): void {
    this.entries.beginPart({ min: '', max: 'FF' });
    this.measure.take(Buffer.from(page), 2 ** 50);
  }

  checkpoint(): void {
    this.chunks.push(...(JSON.parse(JSON.stringify(this.entries.unsaved())) as ExactChunk[]));
    this.entries.markSaved();
    this.#saved = {
      saved: {
        totals: this.measure.savedTotals(),
        candidates: this.measure.candidates.map((one) => one.save()),
      },
    };
  }

  /** `torn`: how many bytes of a chunk were written when the process was killed. */
  resume(torn: number): void {
    this.entries.unsaved();
    this.#file.close();
    const recorded = this.chunks.reduce(
      (sum, { sections }) => sum + sections.reduce((all, { count }, at) => all + count * 4 * widthOf(at), 0),
      0,
    );
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.subarray(0, Math.min(bytes.length, recorded + torn)));
    this.#file = new ExactFile(path);
    this.entries = new ExactEntries(this.#file, LAYOUT, this.chunks);
    this.measure = this.#begin();
  }

  [Symbol.dispose](): void {
    this.#file.drop();
  }

  #begin(): PageMeasure {
    return new PageMeasure(parts, NOW, { ...this.#saved, uniqueKeys: UNIQUE, exact: this.entries });
  }
}

/** Sections are the addresses, and for each candidate its keys and two unique keys. */
function widthOf(section: number): number {
  if (section === 0) return 2;
  const [candidate, within] = [Math.floor((section - 1) / 3), (section - 1) % 3];
  return within > 0 ? 4 : 2 * (LAYOUT.levels[candidate] ?? 0) + 4;
}

const isPlain = (value: unknown): boolean => typeof value !== 'object' || value === null;
/** What a partition key of this value is equal to. */
const keyText = (value: unknown): string =>
  value === undefined || !isPlain(value) ? 'missing' : JSON.stringify(value === 0 ? 0 : value);
const uniqueText = (value: unknown): string => JSON.stringify(value ?? null);

function naive(all: readonly Sample[], candidate: number): unknown {
  const levelsOf = (one: Sample): string[] => {
    const { t, k } = one;
    return [[keyText(k)], [keyText(t), keyText(k)], [derivedText(one) ?? '']][candidate] ?? [];
  };
  const read = all.filter((one) => candidate !== 2 || derivedText(one) !== undefined);
  const group = (texts: readonly string[]): Map<string, number> => {
    const counts = new Map<string, number>();
    for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
    return counts;
  };
  const repeated = (texts: readonly string[]): number => texts.length - new Set(texts).size;
  const keys = group(read.map((one) => levelsOf(one).join(' ')));
  const counts = [...keys.values()].toSorted((one, other) => one - other);
  const nested = ({ n }: Sample): unknown => Reflect.get(Object(n), 'v');
  return {
    documents: read.length,
    distinct: (LAYOUT.levels[candidate] === 2 ? [1, 2] : [1]).map(
      (levels) => new Set(read.map((one) => levelsOf(one).slice(0, levels).join(' '))).size,
    ),
    squares: counts.reduce((sum, count) => sum + count * count, 0),
    max: counts.at(-1) ?? 0,
    p50: counts[Math.floor(counts.length / 2)] ?? 0,
    top10: counts.slice(-10).reduce((sum, count) => sum + count, 0),
    collisions: repeated(read.map((one) => `${levelsOf(one).join(' ')} ${JSON.stringify(one.id)}`)),
    conflicts: [
      repeated(read.map((one) => `${levelsOf(one).join(' ')} ${uniqueText(one.u)}`)),
      repeated(
        read.map((one) => `${levelsOf(one).join(' ')} ${uniqueText(one.u)} ${uniqueText(nested(one))}`),
      ),
    ],
  };
}

/** Returns the key that the template gives a document; undefined: it is refused. */
function derivedText(one: Sample): string | undefined {
  const plan = parts[2]?.plan;
  const computed = plan?.compute(plan.inputs.map((inputPath) => valueAt(one, inputPath)));
  return computed?.kind === 'key' ? JSON.stringify(computed.values) : undefined;
}

async function counted({ entries }: Pass, candidate: number): Promise<unknown> {
  const keys = await countKeys(entries.keysOf(candidate), signal);
  const conflicts = [];
  for (const at of UNIQUE.keys())
    conflicts.push((await countConflicts(entries.uniqueOf(candidate, at), signal)).documents);
  const { documents, distinct, squares, itemsPerKey, top10, collisions } = keys;
  const { max, p50 } = itemsPerKey;
  return { documents, distinct, squares, max, p50, top10, collisions, conflicts };
}

test('any documents, checkpoints and kills -> counted as one by one', async () => {
  const page = fc.record({
    samples: fc.array(sample, { maxLength: 12 }),
    next: fc.constantFrom('nothing', 'checkpoint', 'kill'),
    torn: fc.nat(700),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(page, { maxLength: 10 }), async (pages) => {
      using pass = new Pass();
      /** The documents of pages that a checkpoint has saved, and of those after it. */
      let [saved, since]: [Sample[], Sample[]] = [[], []];
      let lsn = 1;
      const take = (samples: readonly Sample[]): void => {
        pass.take(
          `{"_rid":"x","Documents":[${documentsOf(samples, lsn).join(',')}],"_count":${samples.length}}`,
        );
        lsn += samples.length;
      };
      for (const { samples, next, torn } of pages) {
        take(samples);
        since.push(...samples);
        if (next === 'checkpoint') {
          pass.checkpoint();
          [saved, since] = [[...saved, ...since], []];
        } else if (next === 'kill') {
          pass.resume(torn);
          take(since);
        }
      }
      pass.checkpoint();
      const all = [...saved, ...since];
      for (const candidate of KEYS.keys())
        expect(await counted(pass, candidate)).toEqual(naive(all, candidate));
    }),
    { numRuns: draws(60) },
  );
});

test('the largest values -> as the sketch has them while it is exact, with documents to find them by', async () => {
  using pass = new Pass();
  const all = Array.from({ length: 400 }, (_none, i): Sample => ({
    id: `i${i}`,
    t: 'T',
    k: `k${Math.floor(Math.sqrt(i))}`,
    ageSeconds: i % 3 === 0 ? 10 : 90_000,
  }));
  for (let from = 0; from < 400; from += 90) {
    const some = all.slice(from, from + 90);
    pass.take(
      `{"_rid":"x","Documents":[${documentsOf(some, 2 ** 40 + from).join(',')}],"_count":${some.length}}`,
    );
    pass.entries.unsaved();
  }
  const { largest, hottestOfDay, hottestOfHour } = await countKeys(pass.entries.keysOf(0), signal);
  const sketch = pass.measure.candidates[0];
  expect(largest.map(({ high, low, bytes, documents }) => [high, low, bytes, documents])).toEqual(
    sketch?.biggest
      .heaviest(10)
      .map(({ high, low, weight, documents }) => [high, low, weight.low, documents.low]),
  );
  expect(hottestOfDay?.lastDay).toBe(sketch?.lastDay.heaviest(1)[0]?.documents.low);
  expect(hottestOfHour?.lastHour).toBe(sketch?.lastHour.heaviest(1)[0]?.documents.low);
  const [first] = largest;
  const found = pass.entries.addressOf(first?.numbers[0] ?? -1);
  const { k } = all[found.lsn - 2 ** 40] ?? {};
  expect([found.interval, k]).toEqual([['', 'FF'], 'k19']);
  expect(sketch?.texts.of(first?.high ?? 0, first?.low ?? 0)).toBe('["k19"]');
});

test('the file: for its owner only, of the size that was announced, and gone at the end', () => {
  {
    using pass = new Pass();
    const all = Array.from({ length: 100 }, (_none, i): Sample => ({
      id: `${i}`,
      t: 'T',
      k: i,
      ageSeconds: 1,
    }));
    pass.take(`{"_rid":"x","Documents":[${documentsOf(all, 1).join(',')}],"_count":100}`);
    pass.entries.unsaved();
    expect([(statSync(path).mode & 0o777).toString(8), statSync(path).size]).toEqual([
      '600',
      100 * entryBytes(LAYOUT),
    ]);
  }
  expect(existsSync(path)).toBe(false);
});

test('a damaged file -> refused, with what to do', async () => {
  using pass = new Pass();
  const all = Array.from({ length: 50 }, (_none, i): Sample => ({ id: `${i}`, t: 'T', k: i, ageSeconds: 1 }));
  pass.take(`{"_rid":"x","Documents":[${documentsOf(all, 1).join(',')}],"_count":50}`);
  pass.checkpoint();
  const bytes = readFileSync(path);
  bytes.writeUInt8((bytes[500] ?? 0) ^ 1, 500);
  writeFileSync(path, bytes);
  await expect(countKeys(pass.entries.keysOf(0), signal)).rejects.toMatchObject({
    exitCode: 7,
    hint: expect.stringContaining('--fresh'),
  });
  writeFileSync(path, bytes.subarray(0, 1000));
  expect(() => new ExactEntries(new ExactFile(path), LAYOUT, pass.chunks)).toThrow(/is damaged/);
});
