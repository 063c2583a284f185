/**
 * Splits and merges ranges: on request, because of their size, or because of a raised throughput.
 *
 * Invariant: a split or merge is one SQLite transaction, and the memory changes after its commit.
 */
import { positionOf } from '../../epk/bounds.ts';
import type { KeyKind } from '../../epk/effective-key.ts';
import { must } from '../../lib/assert.ts';
import type { LocalAccount } from '../account/account.ts';
import type { ContainerModel } from '../account/model.ts';
import { rangesToCarry } from './offers.ts';
import { boundBetween, halvesOf, splitAt, rangeToRow, unionOf, type RangeModel } from './ranges.ts';
import { badRequest, Refusal } from '../http/refusal.ts';

function exchange(
  account: LocalAccount,
  container: ContainerModel,
  gone: readonly RangeModel[],
  come: readonly RangeModel[],
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
  for (const range of gone) account.forgetSpending(container, range);
}

/** Splits a range in the middle of its hash space. Both children continue from its LSN. */
export function splitRange(
  account: LocalAccount,
  container: ContainerModel,
  range: RangeModel,
): readonly RangeModel[] {
  const children = halvesOf(container.definition.kind, range, container.nextRange);
  exchange(account, container, [range], children);
  return children;
}

/** Starts a split that takes `durationMs`. Until the split ends, the range answers 410/1007. */
export function beginSplit(
  account: LocalAccount,
  container: ContainerModel,
  range: RangeModel,
  durationMs: number,
): void {
  // A range that cannot be split is refused now, because the caller no longer waits when the split ends.
  halvesOf(container.definition.kind, range, container.nextRange);
  range.splittingUntilMs = account.machineMs() + durationMs;
}

/** Finishes the splits whose duration is over. */
export function finishSplits(account: LocalAccount): void {
  for (const container of account.containers()) {
    for (const range of container.ranges) {
      if (range.splittingUntilMs === undefined || account.machineMs() < range.splittingUntilMs) continue;
      splitRange(account, container, range);
    }
  }
}

export function mergeRanges(
  account: LocalAccount,
  container: ContainerModel,
  left: RangeModel,
  right: RangeModel,
): RangeModel {
  if (account.settings.avad) {
    throw badRequest('Ranges cannot be merged while all versions and deletes change feed is enabled.');
  }
  const [low, high] = left.min <= right.min ? [left, right] : [right, left];
  const merged = unionOf(low, high, container.nextRange);
  exchange(account, container, [low, high], [merged]);
  return merged;
}

/**
 * Splits ranges until the container has `count` of them: each time the widest range, and of equally wide ranges the one
 * with the most bytes.
 */
function growTo(account: LocalAccount, container: ContainerModel, count: number): void {
  const { kind } = container.definition;
  while (container.ranges.length < count) {
    const [first] = container.ranges.toSorted(
      (a, b) => shareOf(kind, b) - shareOf(kind, a) || b.bytes - a.bytes,
    );
    splitRange(account, container, must(first, 'a container has at least one range'));
  }
}

/**
 * Returns a range's share of the hash space. Millionths are coarse enough that two halves have equal shares, although
 * they may differ by one hash.
 */
function shareOf(kind: KeyKind, { min, max }: RangeModel): number {
  return Math.round((positionOf(kind, max) - positionOf(kind, min)) * 1_000_000);
}

/** Creates the ranges for each raised throughput whose delay has passed. */
export function finishScaling(account: LocalAccount): void {
  for (const offer of account.offers.values()) {
    if (offer.pendingUntilMs === undefined || account.machineMs() < offer.pendingUntilMs) continue;
    for (const container of account.containers()) {
      if (container.self === offer.resource) growTo(account, container, rangesToCarry(offer.throughput));
    }
    account.transaction(() => account.saveOffer({ ...offer, pendingUntilMs: undefined }));
    offer.pendingUntilMs = undefined;
  }
}

/**
 * Splits every range that is larger than the limit, unless it contains a single logical partition. Each part receives
 * documents, because an empty range would take a share of the throughput without using it.
 */
export function splitOutgrown(account: LocalAccount): void {
  for (const container of account.containers()) {
    for (const range of container.ranges) {
      if (range.splittingUntilMs !== undefined || range.bytes <= account.settings.rangeLimitBytes) continue;
      const { first, last } = account.documents.keysWithin(container.number, range.min, range.max);
      if (first === undefined || last === undefined) continue;
      const bound = boundBetween(container.definition.kind, range, { first, last });
      if (bound === undefined) continue;
      exchange(account, container, [range], splitAt(range, bound, container.nextRange));
    }
  }
}

export function rangesById(container: ContainerModel, ids: readonly unknown[]): RangeModel[] {
  return ids.map((id) => {
    // The JSON of an admin request may contain anything here, even an object without a usable toString.
    const name = typeof id === 'string' ? id : JSON.stringify(id);
    const range = container.ranges.find((candidate) => String(candidate.id) === name);
    if (range === undefined) throw new Refusal(404, `There is no range ${name} in ${container.link}.`);
    return range;
  });
}

/** Returns the range with the most documents, which is split when the request names no range. */
export function fullestRange(container: ContainerModel): RangeModel {
  const first = must(container.ranges[0], 'a container has at least one range');
  return container.ranges.reduce((best, range) => (range.documents > best.documents ? range : best), first);
}
