/** Figures of a plan as text. The page and the terminal use the same functions, so that a figure looks the same in both. */
import { formatCount, formatShare, pluralize } from '../../lib/counting.ts';
import type { Bounds, PlanResult } from '../../plan/result.ts';
import type { Bounded } from '../../plan/sketch/estimate.ts';
import { VALUE_BYTES_ALERT, VALUE_BYTES_MAX } from '../../plan/verdict/limits.ts';
import { sizeText } from '../format.ts';

/** The sizes of a value that pictures show as limits. */
export const VALUE_LIMITS = [VALUE_BYTES_ALERT, VALUE_BYTES_MAX].map(({ value }) => ({
  at: value,
  label: sizeText(value).replace('.0 ', ' '),
}));

export function countText(value: number): string {
  return formatCount(
    value >= 10 || Number.isInteger(value) ? Math.round(value) : Math.round(value * 10) / 10,
  );
}

/** Returns how many times the average something is: `1.3 ×`. */
export function timesText(overAverage: number): string {
  return `${overAverage >= 10 ? formatCount(Math.round(overAverage)) : overAverage.toFixed(1)} ×`;
}

export function ruText(ru: number): string {
  return `${countText(ru)} RU`;
}

export function ruPerSecondText(ru: number): string {
  return `${countText(ru)} RU/s`;
}

export function dollarsText(dollars: number): string {
  return `$${dollars >= 100 ? formatCount(Math.round(dollars)) : dollars.toFixed(2)}`;
}

export function hoursText(hours: number): string {
  if (hours < 1 / 60) return 'under a minute';
  if (hours < 1) return `${Math.round(hours * 60)} min`;
  return hours < 48
    ? `${hours < 10 ? hours.toFixed(1) : Math.round(hours)} h`
    : `${(hours / 24).toFixed(1)} days`;
}

/** Returns a figure with its bounds: `1,234`, or `about 1,234 (1,200 to 1,270)`. */
export function estimateText({ estimate, low, high }: Bounded, format: (value: number) => string): string {
  if (low === high) return format(estimate);
  return `about ${format(estimate)} (${rangeText({ low, high }, format)})`;
}

/** Returns bounds as `12 to 15`; as one figure where they look the same. */
export function rangeText({ low, high }: Bounds, format: (value: number) => string): string {
  const [least, most] = [format(low), format(high)];
  return least === most ? least : `${least} to ${most}`;
}

/** Returns a duration as a person would say it: `64 min`, `2 days`. */
export function spanText(seconds: number): string {
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${formatCount(Math.round(seconds / 86_400))} days`;
}

/** Returns where the RU/s of the hottest value come from. */
export function hottestText({ observed }: PlanResult): string {
  const average = 'averaged over the last hour, with one write per document';
  return observed === null
    ? `${average}; --observe 10m counts every write`
    : `as the change feed showed it for ${formatCount(observed.seconds)} s, or ${average}, if that is more`;
}

/** Returns how much of the source was read. */
export function readText({ sampled, documents, exact, leftOut }: PlanResult): string {
  if (documents.estimate === 0) return 'the container is empty';
  if (leftOut === null) return `a sample of ${pluralize(sampled, 'document')} was read`;
  if (leftOut.documents > 0)
    return `${pluralize(sampled, 'document')} were read; ${formatCount(leftOut.documents)} changed meanwhile and are left out, so the figures rest on ${shareText(leftOut.covered)} of them`;
  const read =
    sampled === 1 ? 'the only document was read' : `all ${formatCount(sampled)} documents were read`;
  return exact ? `${read}, and values and collisions are counted exactly` : read;
}

/** A space at which no line ends. */
export const NO_BREAK = '\u00A0';

/** Keeps a figure on the line of its unit. */
export function joinUnits(text: string): string {
  return text.replaceAll(/(?<=\d) (?=%|×|[KMGT]B\b|RU\b)/g, NO_BREAK);
}

/** Begins a sentence with a capital letter. */
export function sentence(text: string): string {
  return joinUnits(text.replace(/^[a-z]/, (letter) => letter.toUpperCase()));
}

/** `sizeText` and `formatShare` with the names that the other functions have. */
export const bytesText = sizeText;
export const shareText = formatShare;
