/** The exact figures of a candidate (`--exact`), and how they replace those that were estimated. Pure. */
import type { Bounds, DataFigures, RecentWrites, WriteFigures } from '../result.ts';
import type { CollisionExample } from '../pass/candidate-measure.ts';
import type { ItemsPerKey } from '../sketch/key-sample.ts';
import type { ConflictExample } from '../unique/unique-measure.ts';

/** A value of a key, as it is shown. */
export interface ExactValue {
  readonly value: string;
  readonly documents: number;
  readonly bytes: number;
}

export interface ExactFigures {
  readonly documents: number;
  /** For each level of the key, from the first on. */
  readonly distinct: readonly number[];
  readonly itemsPerKey: ItemsPerKey;
  readonly squares: number;
  /** The documents of the value with the most documents, and of the ten with the most together. */
  readonly top1: number;
  readonly top10: number;
  readonly largest: readonly ExactValue[];
  /** The value with the most writes, and how many. */
  readonly hottestOfDay: { readonly value: string; readonly writes: number } | null;
  readonly hottestOfHour: { readonly value: string; readonly writes: number } | null;
  readonly collisions: { readonly documents: number; readonly examples: readonly CollisionExample[] };
  /** For each unique key of the container. */
  readonly conflicts: ReadonlyArray<{
    readonly documents: number;
    readonly examples: readonly ConflictExample[];
  }>;
}

/**
 * Replaces the figures of the data by exact ones. `all` is the number of documents that were read, `isWhole` is false if
 * some changed meanwhile and were left out.
 */
export function withExact(
  data: DataFigures,
  exact: ExactFigures,
  { all, isWhole }: { readonly all: number; readonly isWhole: boolean },
): DataFigures {
  const { distinct, itemsPerKey, squares, top1, top10, largest, collisions } = exact;
  const shareOf = (documents: number): number => documents / Math.max(1, all);
  return {
    ...data,
    distinct: sure(distinct.at(-1) ?? 0),
    distinctPerLevel: distinct.map(sure),
    largest: largest.map(({ value, documents, bytes }) => ({
      value,
      documents: both(documents),
      bytes: both(bytes),
      share: shareOf(documents),
    })),
    top1Share: shareOf(top1),
    top10Share: shareOf(top10),
    effectiveKeys: squares === 0 ? 0 : exact.documents ** 2 / squares,
    itemsPerKey,
    collisions: {
      ...data.collisions,
      documents: collisions.documents,
      ...both(collisions.documents),
      exact: isWhole,
      known: true,
      examples: collisions.examples,
    },
  };
}

/** Replaces the hottest values by exact ones. */
export function withExactWrites(writes: WriteFigures, exact: ExactFigures): WriteFigures {
  const of = (recent: RecentWrites, hottest: ExactFigures['hottestOfDay']): RecentWrites => ({
    documents: recent.documents,
    hottest:
      hottest === null
        ? null
        : {
            value: hottest.value,
            documents: both(hottest.writes),
            share: hottest.writes / Math.max(1, recent.documents),
          },
  });
  const before = writes.lastHour.hottest?.documents.low ?? 0;
  const lastHour = of(writes.lastHour, exact.hottestOfHour);
  return {
    ...writes,
    lastHour,
    lastDay: of(writes.lastDay, exact.hottestOfDay),
    hottestRu:
      before === 0 ? writes.hottestRu : (writes.hottestRu / before) * (lastHour.hottest?.documents.low ?? 0),
  };
}

function sure(value: number): { readonly estimate: number } & Bounds {
  return { estimate: value, ...both(value) };
}

function both(value: number): Bounds {
  return { low: value, high: value };
}
