/** Which texts are valid. Each function returns the value, or why the text is not valid; none of them throws. */
import { nearest } from '../../lib/nearest.ts';
import { isLoopback } from '../connection.ts';
import { Invalid } from './given.ts';
import type { Budget } from '../migration-spec.ts';

/** Returns the value of a text, or why it is not valid. */
export type Read<T> = (text: string) => T | Invalid;

/** What Cosmos allows in the name of a database or a container. */
const NAME_MAX = 255;

export interface ContainerName {
  readonly database: string;
  readonly container: string;
}

/** DB/CONTAINER. */
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

/** The one text among `choices`. */
export function readChoice<const C extends string>(choices: readonly C[]): Read<C> {
  return (text) =>
    choices.find((choice) => choice === text) ??
    new Invalid(`it is one of ${choices.join(', ')}`, nearest(text, choices) ?? choices[0]);
}

/** On or off. */
export function readSwitch(text: string): boolean | Invalid {
  const lower = text.toLowerCase();
  if (lower === 'true') return true;
  return lower === 'false' ? false : new Invalid('it is true or false', 'true');
}

/** A whole number from `min` to `max`, in steps from zero. */
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

/** More than a container can have, so that a typing mistake of three digits shows. */
const RU_MAX = 10_000_000;

/** N RU/s, or N% of what there is. */
export function readBudget(text: string): Budget | Invalid {
  const [, digits = '', sign] = /^(\d{1,15})(%?)$/.exec(text) ?? [];
  const number = digits === '' ? Number.NaN : Number(digits);
  if (sign === '%' && number >= 1 && number <= 100) return { kind: 'percent', percent: number };
  if (sign === '' && number >= 1 && number <= RU_MAX) return { kind: 'ru', ru: number };
  return new Invalid(`it is RU/s as a whole number from 1 to ${RU_MAX}, or 1% to 100% of what there is`);
}

/** Beyond this the service needs a support request. */
const THROUGHPUT_MAX = 1_000_000;

export const readManualThroughput = readWhole(400, THROUGHPUT_MAX, 100, 'of RU/s');
export const readAutoscaleThroughput = readWhole(1000, THROUGHPUT_MAX, 1000, 'of RU/s');
/** The upper end only keeps typing mistakes out. */
export const readDeadLettersMax = readWhole(0, 1_000_000_000);

const UNITS_MS: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000 };
/** A timer of Node holds 24.8 days at most. */
const DURATION_MAX_MS = 20 * 86_400_000;

/** 90s, 30m, 2h, 1h30m, 1d: each unit once, the largest first. In milliseconds. */
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

/** HH:MM, as minutes of a day. */
export function readTimeOfDay(text: string): number | Invalid {
  const [, hours = '', minutes = ''] = /^(\d{1,2}):(\d{2})$/.exec(text) ?? [];
  const wrong = new Invalid('it is a time of day from 00:00 to 23:59');
  if (hours === '' || Number(hours) > 23 || Number(minutes) > 59) return wrong;
  return Number(hours) * 60 + Number(minutes);
}

const MINUTE_MS = 60_000;
const DIAL_MINUTES = 24 * 60;
/** A day has 25 hours where the clock is put back. */
const DAY_MINUTES_MAX = 25 * 60;

/**
 * The next time after `nowMs` at which a wall clock shows `minutes`. Every minute is checked: a clock that is put back
 * shows a time twice, and when it is put forward past the time, the first minute after it counts.
 */
export function nextTimeOfDay(minutes: number, nowMs: number): number {
  const start = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
  let before = minutesOfDay(start);
  for (let step = 1; step <= DAY_MINUTES_MAX; step += 1) {
    const atMs = start + step * MINUTE_MS;
    const shown = minutesOfDay(atMs);
    const [forth, away] = [onDial(shown - before), onDial(minutes - before)];
    // A clock is never put forward by half a day; such a step means that it was put back.
    const isBeyond = away > 0 && away < forth && forth < DIAL_MINUTES / 2;
    if (shown === minutes || isBeyond) return atMs;
    before = shown;
  }
  return start + DAY_MINUTES_MAX * MINUTE_MS;
}

/** So far forward from one time of day to another, also past midnight. */
function onDial(minutes: number): number {
  return (minutes + DIAL_MINUTES) % DIAL_MINUTES;
}

function minutesOfDay(atMs: number): number {
  const at = new Date(atMs);
  return at.getHours() * 60 + at.getMinutes();
}

/** What this machine calls its time zone. */
export function localZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** The URL of an account as its origin and one slash; the default port is left out, as in every other spelling. */
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

/** Whether a text given as a URL may contain a secret. */
export function holdsSecret(text: string): boolean {
  return /accountkey|@|;|\?|sig=/i.test(text);
}
