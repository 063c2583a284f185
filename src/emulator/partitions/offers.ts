/**
 * Provisioned throughput: which values a request may ask for, the content of an offer, how many ranges a throughput
 * needs, and the minimum after an earlier peak. The numbers are the service's (facts SVC-28 and SVC-36).
 */
import { isObject, own, parseJson, type JsonObject } from '../json/json-value.ts';
import { badRequest } from '../http/refusal.ts';
import type { Headers } from '../http/request.ts';

export type ProvisionedThroughput =
  | { readonly mode: 'manual'; readonly ru: number }
  | {
      readonly mode: 'autoscale';
      readonly ru: number;
      /** The policy by which the service raises the maximum by itself. The emulator only stores this policy. */
      readonly autoUpgradePolicy?: JsonObject;
    };

export const RU_PER_RANGE_MAX = 10_000;
/** A new container has as many ranges as its RU/s divided by this number, rounded up. */
const RU_PER_NEW_RANGE = { manual: 6_000, autoscale: RU_PER_RANGE_MAX };
const FLOOR = { manual: 400, autoscale: 1_000 };
const STEP = { manual: 100, autoscale: 1_000 };
/** Throughput cannot be set below this share of the highest throughput that was ever provisioned. */
const PEAK_SHARE = { manual: 1 / 100, autoscale: 1 / 10 };
const RU_PER_GB = { manual: 1, autoscale: 10 };
const RU_MAX = 1_000_000;

export const DEFAULT_THROUGHPUT: ProvisionedThroughput = { mode: 'manual', ru: 400 };

function checked(mode: ProvisionedThroughput['mode'], ru: unknown): ProvisionedThroughput {
  if (typeof ru !== 'number' || !Number.isInteger(ru)) {
    throw badRequest('The offer throughput must be a whole number of RU/s.');
  }
  if (ru < FLOOR[mode] || ru > RU_MAX || ru % STEP[mode] !== 0) {
    throw badRequest(
      `The ${mode} throughput ${ru} is out of bounds: ${FLOOR[mode]} to ${RU_MAX} in steps of ${STEP[mode]}.`,
    );
  }
  return { mode, ru };
}

/** Returns the throughput that the headers of a create ask for, if any. */
export function requestedThroughput(headers: Headers): ProvisionedThroughput | undefined {
  const manual = headers['x-ms-offer-throughput'];
  const autopilot = headers['x-ms-cosmos-offer-autopilot-settings'];
  if (manual !== undefined && autopilot !== undefined) {
    throw badRequest('A request asks for manual or for autoscale throughput, not for both.');
  }
  if (manual !== undefined) return checked('manual', Number(manual));
  if (autopilot === undefined) return undefined;
  return autoscale(parseJson(autopilot));
}

function autoscale(settings: unknown): ProvisionedThroughput {
  const throughput = checked('autoscale', own(settings, 'maxThroughput'));
  const autoUpgradePolicy = own(settings, 'autoUpgradePolicy');
  return isObject(autoUpgradePolicy) ? { ...throughput, mode: 'autoscale', autoUpgradePolicy } : throughput;
}

/** Returns the throughput that the body of an offer replace asks for. */
export function throughputOf(content: unknown): ProvisionedThroughput {
  if (!isObject(content)) throw badRequest('The offer has no content.');
  const autopilot = own(content, 'offerAutopilotSettings');
  if (isObject(autopilot)) return autoscale(autopilot);
  return checked('manual', own(content, 'offerThroughput'));
}

export function rangesFor(throughput: ProvisionedThroughput): number {
  return Math.max(1, Math.ceil(throughput.ru / RU_PER_NEW_RANGE[throughput.mode]));
}

/** Returns how many ranges an existing container needs for a raised throughput. */
export function rangesToCarry(throughput: ProvisionedThroughput): number {
  return Math.max(1, Math.ceil(throughput.ru / RU_PER_RANGE_MAX));
}

export interface OfferHistory {
  readonly peakRu: number;
  readonly storedKb: number;
}

/** Returns the lowest throughput that may be set. */
export function minimumRu(mode: ProvisionedThroughput['mode'], history: OfferHistory): number {
  const gb = history.storedKb / 1024 / 1024;
  const floor = Math.max(FLOOR[mode], gb * RU_PER_GB[mode], history.peakRu * PEAK_SHARE[mode]);
  return Math.ceil(floor / STEP[mode]) * STEP[mode];
}

export function refuseBelowMinimum(throughput: ProvisionedThroughput, history: OfferHistory): void {
  const minimum = minimumRu(throughput.mode, history);
  if (throughput.ru < minimum) {
    throw badRequest(
      `The ${throughput.mode} throughput ${throughput.ru} is below the minimum of ${minimum} RU/s for this resource, ` +
        'which follows from its storage and the highest throughput it ever had.',
    );
  }
}

export function offerContent(
  throughput: ProvisionedThroughput,
  history: OfferHistory,
  isOfferReplacePending: boolean,
): JsonObject {
  const past = {
    isOfferReplacePending,
    offerMinimumThroughputParameters: {
      maxThroughputEverProvisioned: history.peakRu,
      maxConsumedStorageEverInKB: Math.ceil(history.storedKb),
    },
  };
  if (throughput.mode === 'manual')
    return { offerThroughput: throughput.ru, offerIsRUPerMinuteThroughputEnabled: false, ...past };
  // An autoscale offer states a tenth of its maximum, the throughput of an idle container. Requests are admitted up to
  // the maximum; on the service, only the bill depends on the use.
  return {
    offerThroughput: throughput.ru / 10,
    offerAutopilotSettings: {
      maxThroughput: throughput.ru,
      ...(throughput.autoUpgradePolicy && { autoUpgradePolicy: throughput.autoUpgradePolicy }),
    },
    ...past,
  };
}
