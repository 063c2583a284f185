/**
 * How ranges come and go: split, merge, and the splits that follow from size or throughput. All of one
 * change is one SQLite transaction; the memory follows after it.
 */
import { must } from '../lib/assert.ts';
import type { Account } from './account.ts';
import type { ContainerModel } from './model.ts';
import { rangesToCarry } from './offers.ts';
import { halvesOf, middleBound, rangeToRow, unionOf, type PhysicalRange } from './partitions.ts';
import { Refusal } from './refusal.ts';

function exchange(
  account: Account,
  container: ContainerModel,
  gone: readonly PhysicalRange[],
  come: readonly PhysicalRange[],
): void {
  const nextRange = Math.max(container.nextRange, ...come.map((range) => range.id + 1));
  account.transaction(() => {
    for (const from of gone) {
      for (const to of come) {
        const { min, max } = to;
        account.documents.move({ container: container.number, from: from.id, to: to.id, min, max });
      }
      account.catalog.deleteRange(container.number, from.id);
    }
    for (const range of come) {
      Object.assign(range, account.documents.measure(container.number, range.id));
      account.catalog.insertRange(rangeToRow(container.number, range));
    }
    account.catalog.countContainer({ number: container.number, nextRange, nextItem: container.nextItem });
  });
  container.replaceRanges(gone, come);
  for (const range of gone) account.meter.forget(`${container.self}${range.id}`);
}

/** Splits a range in the middle of its hash space; the two children go on from its position. */
export function splitRange(
  account: Account,
  container: ContainerModel,
  range: PhysicalRange,
): readonly PhysicalRange[] {
  const children = halvesOf(container.definition.kind, range, container.nextRange);
  exchange(account, container, [range], children);
  return children;
}

/** Starts a split that takes a while: until `durationMs` have passed the range answers 410/1007. */
export function beginSplit(
  account: Account,
  container: ContainerModel,
  range: PhysicalRange,
  durationMs: number,
): void {
  // Refused now rather than when its time has come and nobody is left to be told.
  halvesOf(container.definition.kind, range, container.nextRange);
  range.splittingUntilMs = account.machineMs() + durationMs;
}

/** Finishes the splits whose time has come. */
export function finishSplits(account: Account): void {
  for (const container of account.containers()) {
    for (const range of container.ranges) {
      if (range.splittingUntilMs === undefined || account.machineMs() < range.splittingUntilMs) continue;
      splitRange(account, container, range);
    }
  }
}

export function mergeRanges(
  account: Account,
  container: ContainerModel,
  left: PhysicalRange,
  right: PhysicalRange,
): PhysicalRange {
  if (account.settings.avad) {
    throw new Refusal(400, 'Ranges cannot be merged while all versions and deletes change feed is enabled.');
  }
  const [low, high] = left.min <= right.min ? [left, right] : [right, left];
  const merged = unionOf(low, high, container.nextRange);
  exchange(account, container, [low, high], [merged]);
  return merged;
}

/** Splits the range with the most bytes until the container has `count` ranges. */
function growTo(account: Account, container: ContainerModel, count: number): void {
  while (container.ranges.length < count) {
    const largest = container.ranges.reduce((best, range) =>
      width(range) > width(best) || (width(range) === width(best) && range.bytes > best.bytes) ? range : best,
    );
    splitRange(account, container, largest);
  }
}

/** A range's share of the hash space, roughly: the leading hash digits tell enough to pick the widest. */
function width(range: PhysicalRange): number {
  const edge = (bound: string): number => Number.parseInt(bound.padEnd(12, '0').slice(0, 12), 16);
  const top = range.max === 'FF' ? '400000000000' : range.max;
  return edge(top) - edge(range.min);
}

/** Gives containers the ranges that a raised throughput needs, once that has taken its time. */
export function finishScaling(account: Account): void {
  for (const offer of account.offers.values()) {
    if (offer.pendingUntilMs === undefined || account.machineMs() < offer.pendingUntilMs) continue;
    for (const container of account.containers()) {
      if (container.self === offer.resource) growTo(account, container, rangesToCarry(offer.throughput));
    }
    offer.pendingUntilMs = undefined;
    account.transaction(() => account.saveOffer(offer));
  }
}

/** Splits every range that has outgrown its limit, unless all it holds is one logical partition. */
export function splitOutgrown(account: Account): void {
  for (const container of account.containers()) {
    for (const range of container.ranges) {
      if (range.splittingUntilMs !== undefined || range.bytes <= account.settings.rangeLimitBytes) continue;
      const { first, last } = account.documents.keysWithin(container.number, range.min, range.max);
      // Where all keys lie in one half, the other stays empty, and the next look halves again.
      if (first === last || middleBound(container.definition.kind, range) === undefined) continue;
      splitRange(account, container, range);
    }
  }
}

export function rangesById(container: ContainerModel, ids: readonly unknown[]): PhysicalRange[] {
  return ids.map((id) => {
    // The admin's JSON may hold anything here, an object without a usable toString too.
    const name = typeof id === 'string' ? id : JSON.stringify(id);
    const range = container.ranges.find((candidate) => String(candidate.id) === name);
    if (range === undefined) throw new Refusal(404, `There is no range ${name} in ${container.link}.`);
    return range;
  });
}

export function widestRange(container: ContainerModel): PhysicalRange {
  const first = must(container.ranges[0], 'a container has at least one range');
  return container.ranges.reduce((best, range) => (range.documents > best.documents ? range : best), first);
}
