/**
 * Decides which texts are valid values. A function that reads a text returns the value, or an Invalid with the reason,
 * and never throws.
 */
import { nearest } from '../../lib/nearest.ts';
import { isLoopback } from '../connection.ts';
import { Invalid } from './given.ts';
import type { Budget } from '../migration-spec.ts';

/** Converts a text into a value, or returns why the text is not valid. */
export type Read<T> = (text: string) => T | Invalid;

/** The maximum length that Cosmos DB allows for the name of a database or a container. */
const NAME_MAX = 255;

export interface ContainerName {
  readonly database: string;
  readonly container: string;
}

/** Reads a container name of the form DB/CONTAINER. */
export function parseContainerName(text: string): ContainerName | Invalid {
  const [database = '', container = '', ...rest] = text.split('/');
  if (database === '' || container === '' || rest.length > 0) {
    return new Invalid('a container is named as DB/CONTAINER, with one slash');
  }
  const bad = [database, container].find(
    (name) => /[\\#?\p{Cc}]|^\s|\s$/u.test(name) || name.length > NAME_MAX,
  );
  if (bad === undefined) return { database, container };
  return new Invalid(
    bad.length > NAME_MAX
      ? `a name has at most ${NAME_MAX} characters`
      : String.raw`a name has none of \ # ? and control characters, and no space at either end`,
  );
}

/** Accepts one of the texts in `choices`. */
export function readChoice<const C extends string>(choices: readonly C[]): Read<C> {
  return (text) =>
    choices.find((choice) => choice === text) ??
    new Invalid(`it is one of ${choices.join(', ')}`, nearest(text, choices) ?? choices[0]);
}

/** Reads the value of a switch: true or false. */
export function readSwitch(text: string): boolean | Invalid {
  const lower = text.toLowerCase();
  if (lower === 'true') return true;
  return lower === 'false' ? false : new Invalid('it is true or false', 'true');
}

/** Accepts a whole number from `min` to `max` that is a multiple of `step`. */
export function readWhole(min: number, max: number, step = 1, unit = ''): Read<number> {
  const of = unit === '' ? '' : ` ${unit}`;
  const steps = step === 1 ? '' : `, in steps of ${step}`;
  return (text) => {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (number >= min && number <= max && number % step === 0) return number;
    const near = Math.min(max, Math.max(min, Math.ceil(number / step) * step));
    return new Invalid(
      `it is a whole number${of} from ${min} to ${max}${steps}`,
      Number.isNaN(near) ? undefined : String(near),
    );
  };
}

/**
 * The maximum of a budget. No container has as many RU/s, so a budget that is a thousand times too high by mistake is
 * usually refused.
 */
const RU_MAX = 10_000_000;

/** Reads a budget: a number of RU/s, or a percentage of the available RU/s. */
export function readBudget(text: string): Budget | Invalid {
  const [, digits = '', sign] = /^(\d{1,15})(%?)$/.exec(text) ?? [];
  const number = digits === '' ? Number.NaN : Number(digits);
  if (sign === '%' && number >= 1 && number <= 100) return { kind: 'percent', percent: number };
  if (sign === '' && number >= 1 && number <= RU_MAX) return { kind: 'ru', ru: number };
  return new Invalid(`it is RU/s as a whole number from 1 to ${RU_MAX}, or 1% to 100% of what there is`);
}

/** The maximum throughput without a support request to the service. */
const THROUGHPUT_MAX = 1_000_000;

export const readManualThroughput = readWhole(400, THROUGHPUT_MAX, 100, 'of RU/s');
export const readAutoscaleThroughput = readWhole(1000, THROUGHPUT_MAX, 1000, 'of RU/s');
/** The maximum is so high that it only detects typing mistakes. */
export const readDeadLettersMax = readWhole(0, 1_000_000_000);

const UNITS_MS: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000 };
/** The maximum duration, below the 24.8 days of the longest timer in Node. */
const DURATION_MAX_MS = 20 * 86_400_000;

/** Reads a duration in milliseconds: 90s, 30m, 2h, 1h30m or 1d. Each unit occurs at most once, the largest first. */
export function readDuration(text: string): number | Invalid {
  const parts = /^(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,7})s)?$/.exec(text);
  const [days = '0', hours = '0', minutes = '0', seconds = '0'] = parts?.slice(1) ?? [];
  const sumMs = [days, hours, minutes, seconds].reduce(
    (sum, digits, index) => sum + Number(digits) * (Object.values(UNITS_MS)[index] ?? 0),
    0,
  );
  if (parts !== null && sumMs > 0 && sumMs <= DURATION_MAX_MS) return sumMs;
  return new Invalid('it is a time like 90s, 30m, 2h or 1h30m, of at most 20d');
}

/** The longest time for which a container is kept. */
const KEEP_MAX_MS = 90 * 86_400_000;

/** Reads how long a container is kept, in milliseconds. */
export function readKeepTime(text: string): number | Invalid {
  const [, days = ''] = /^(\d{1,3})d$/.exec(text) ?? [];
  const keptMs = days === '' ? readDuration(text) : Number(days) * 86_400_000;
  if (typeof keptMs === 'number' && keptMs > 0 && keptMs <= KEEP_MAX_MS) return keptMs;
  return new Invalid('it is a time like 12h or 7d, of at most 90d');
}

/** Reads a time of day, HH:MM, as minutes since midnight. */
export function readTimeOfDay(text: string): number | Invalid {
  const [, hours = '', minutes = ''] = /^(\d{1,2}):(\d{2})$/.exec(text) ?? [];
  const wrong = new Invalid('it is a time of day from 00:00 to 23:59');
  if (hours === '' || Number(hours) > 23 || Number(minutes) > 59) return wrong;
  return Number(hours) * 60 + Number(minutes);
}

const MINUTE_MS = 60_000;
const DIAL_MINUTES = 24 * 60;
/** The longest day has 25 hours: the one on which the clock is put back. */
const DAY_MINUTES_MAX = 25 * 60;

/**
 * Returns the next time after `nowMs` at which a wall clock shows `minutes`. Every minute is checked. A clock that is
 * put back shows some times twice, and the first one counts. A clock that is put forward may skip the time, and the
 * first minute after it counts.
 */
export function nextTimeOfDay(minutes: number, nowMs: number): number {
  const start = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
  let before = minutesOfDay(start);
  for (let step = 1; step <= DAY_MINUTES_MAX; step += 1) {
    const atMs = start + step * MINUTE_MS;
    const shown = minutesOfDay(atMs);
    const [forth, away] = [onDial(shown - before), onDial(minutes - before)];
    // A step of half a day or more means that the clock was put back, since no clock is put forward that far.
    const isBeyond = away > 0 && away < forth && forth < DIAL_MINUTES / 2;
    if (shown === minutes || isBeyond) return atMs;
    before = shown;
  }
  return start + DAY_MINUTES_MAX * MINUTE_MS;
}

/**
 * Converts a difference between two times of day into the minutes forward from the first to the second, also past
 * midnight.
 */
function onDial(minutes: number): number {
  return (minutes + DIAL_MINUTES) % DIAL_MINUTES;
}

function minutesOfDay(atMs: number): number {
  const at = new Date(atMs);
  return at.getHours() * 60 + at.getMinutes();
}

/** Returns the name of this machine's time zone. */
export function localZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/**
 * Reads the URL of an account as its origin and one slash. The default port is left out, so that all spellings of one
 * URL become equal.
 */
export function readEndpoint(text: string): string | Invalid {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['https:', 'http:'].includes(url.protocol))
    return new Invalid('it is the URL of an account');
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    return new Invalid(
      'without TLS everyone on the network path can read it: http is for this machine only',
      `https://${url.host}`,
    );
  }
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') {
    return new Invalid('the URL of an account ends after the host and the port', url.origin);
  }
  return `${url.origin}/`;
}

/** Returns whether a text that was given as a URL may contain a secret. */
export function holdsSecret(text: string): boolean {
  return /accountkey|@|;|\?|sig=/i.test(text);
}
