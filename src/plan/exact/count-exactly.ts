/** Counts everything that was kept of a pass (`--exact`), and finds out how the values look that are shown. */
import { must } from '../../lib/assert.ts';
import type { CandidateMeasure } from '../pass/candidate-measure.ts';
import { countConflicts } from './count-conflicts.ts';
import { countKeys, type CountedValue, type KeyCounts } from './count-keys.ts';
import { DocumentFinder, type FinderParts } from './find-documents.ts';
import type { ExactFigures } from './exact-figures.ts';

export interface ExactParts extends FinderParts {
  /** What was measured of each candidate: its texts and examples are used before others are looked for. */
  readonly measures: readonly CandidateMeasure[];
  /** Whether positions in the feed are LSNs, so that documents can be found again. */
  readonly canFind: boolean;
}

export async function countExactly(parts: ExactParts): Promise<readonly ExactFigures[]> {
  const counted: ExactFigures[] = [];
  const texts = new Texts(parts);
  for (const candidate of parts.candidates.keys()) {
    // oxlint-disable-next-line no-await-in-loop -- the sorted runs of one candidate at a time fit into the memory
    counted.push(await countCandidate(parts, candidate, texts));
  }
  return counted;
}

async function countCandidate(
  { entries, uniqueKeys, signal }: ExactParts,
  candidate: number,
  texts: Texts,
): Promise<ExactFigures> {
  const counts = await countKeys(entries.keysOf(candidate), signal);
  const conflicts: Array<ExactFigures['conflicts'][number]> = [];
  for (const uniqueKey of uniqueKeys.keys()) {
    // oxlint-disable-next-line no-await-in-loop -- as above
    const { documents, found } = await countConflicts(entries.uniqueOf(candidate, uniqueKey), signal);
    const known = texts.conflictsOf(candidate, uniqueKey);
    const examples =
      known.length >= found.length
        ? known
        : // oxlint-disable-next-line no-await-in-loop -- as above
          await texts.shownOf(found.map((one) => ({ ...one, candidate, uniqueKey })));
    conflicts.push({ documents, examples: examples.map(({ id, key, values }) => ({ id, key, values })) });
  }
  const { largest, hottestOfDay, hottestOfHour, collisions, collided, ...others } = counts;
  const valued: Array<ExactFigures['largest'][number]> = [];
  for (const one of largest) {
    // oxlint-disable-next-line no-await-in-loop -- few values are looked for, one after the other
    const value = await texts.of(candidate, one);
    valued.push({ value, documents: one.documents, bytes: one.bytes });
  }
  return {
    ...others,
    largest: valued,
    hottestOfDay: await hottest(hottestOfDay, 'lastDay'),
    hottestOfHour: await hottest(hottestOfHour, 'lastHour'),
    collisions: { documents: collisions, examples: await collisionsOf(collided) },
    conflicts,
  };

  async function hottest(
    value: CountedValue | null,
    span: 'lastDay' | 'lastHour',
  ): Promise<ExactFigures['hottestOfDay']> {
    if (value === null) return null;
    return { value: await texts.of(candidate, value), writes: value[span] };
  }

  async function collisionsOf(found: KeyCounts['collided']): Promise<ExactFigures['collisions']['examples']> {
    const known = texts.collisionsOf(candidate);
    if (known.length >= found.length) return known;
    const shown = await texts.shownOf(found.map((one) => ({ ...one, candidate })));
    return shown.map(({ id, key }) => ({ id, key }));
  }
}

/** FoundDocument for a value of which no document is left as it was when it was read. */
const CHANGED = '(a value whose documents have changed since)';

/** How values and documents look: as they were seen during the pass, or found again in the source. */
class Texts {
  readonly #parts: ExactParts;
  readonly #finder: DocumentFinder;

  constructor(parts: ExactParts) {
    this.#parts = parts;
    this.#finder = new DocumentFinder(parts);
  }

  async of(candidate: number, { high, low, numbers }: CountedValue): Promise<string> {
    const { texts } = must(this.#parts.measures[candidate], 'each candidate is measured');
    if (!texts.has(high, low) && this.#parts.canFind) {
      const shown = await this.#finder.find({ candidate, numbers, high, low });
      if (shown === undefined) return CHANGED;
      texts.keep(high, low, shown.key);
    }
    return texts.of(high, low);
  }

  collisionsOf(candidate: number): ExactFigures['collisions']['examples'] {
    return this.#parts.measures[candidate]?.collided ?? [];
  }

  conflictsOf(candidate: number, uniqueKey: number): ExactFigures['conflicts'][number]['examples'] {
    return this.#parts.measures[candidate]?.unique.examples[uniqueKey] ?? [];
  }

  /** Returns those of some documents that are still there. */
  async shownOf(
    sought: ReadonlyArray<Parameters<DocumentFinder['find']>[0]>,
  ): Promise<ReadonlyArray<NonNullable<Awaited<ReturnType<DocumentFinder['find']>>>>> {
    if (!this.#parts.canFind) return [];
    const shown = [];
    for (const one of sought) {
      // oxlint-disable-next-line no-await-in-loop -- few documents are looked for, one after the other
      const found = await this.#finder.find(one);
      if (found !== undefined) shown.push(found);
    }
    return shown;
  }
}
