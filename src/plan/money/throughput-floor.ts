/** The smallest throughput that the service lets a container have, and the steps in which it is set (fact SVC-36). */

export type ProvisionedKind = 'manual' | 'autoscale';

const LEAST = { manual: 400, autoscale: 1000 } as const;
const STEP = { manual: 100, autoscale: 1000 } as const;
const RU_PER_GB = { manual: 1, autoscale: 10 } as const;
/** After a peak, throughput cannot be set below this share of it. */
const PEAK_SHARE = { manual: 1 / 100, autoscale: 1 / 10 } as const;

/** Rounds RU/s up to what can be set. */
export function roundUp(kind: ProvisionedKind, ru: number): number {
  return Math.max(LEAST[kind], Math.ceil(ru / STEP[kind] - 1e-9) * STEP[kind]);
}

/** Returns the least RU/s for a container that stores this much, and once had `peakRu`. */
export function floorRu(
  kind: ProvisionedKind,
  { gigabytes, peakRu }: { readonly gigabytes: number; readonly peakRu: number },
): number {
  return roundUp(kind, Math.max(gigabytes * RU_PER_GB[kind], peakRu * PEAK_SHARE[kind]));
}
