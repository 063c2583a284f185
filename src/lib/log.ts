/**
 * Structured log lines for people or for machines. Invariant: no line contains a secret, neither in its text nor in a
 * field, a nested object, an error or its causes.
 */
import type { Clock } from './clock.ts';
import { plain, safeStringify } from './json/json.ts';
import { printableLine } from './json/printable.ts';

/** The levels of log lines, from the least to the most severe. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Details of an event, printed after its message. */
export type Fields = Readonly<Record<string, unknown>>;

/** Writes the lines whose level is at least the level of the log. */
export interface Log {
  debug(message: string, fields?: Fields): void;
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
}

/** The level, the format and the destination of log lines. */
export interface LogOptions {
  readonly level: LogLevel;
  /** `text`: each line is a sentence for people. `json`: each line is a JSON object. */
  readonly format: 'text' | 'json';
  readonly clock: Clock;
  readonly write: (line: string) => void;
}

const RANK: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

/** Creates a log. Everything passes through redact() before the log writes it. */
export function createLog(options: LogOptions): Log {
  const at =
    (level: LogLevel) =>
    (message: string, fields: Fields = {}): void => {
      if (RANK[level] < RANK[options.level]) return;
      const time = new Date(options.clock.now()).toISOString();
      const clean = Object.entries(fields).map(([name, value]) => [name, redact(value, name)] as const);
      if (options.format === 'json') {
        const line = { time, level, message: redactText(message), ...Object.fromEntries(clean) };
        options.write(`${safeStringify(line)}\n`);
      } else {
        const tail = clean
          .map(([name, value]) => (name === 'now' ? `; now: ${String(value)}` : ` ${name}=${asText(value)}`))
          .join('');
        options.write(`${printableLine(`${time.slice(11, 19)} ${level} ${redactText(message)}${tail}`)}\n`);
      }
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

function asText(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : safeStringify(value);
}

const REDACTED = '[redacted]';

// Names of secrets, compared without case, dashes and underscores. `key` is not in the list, because a partition key is
// not a secret.
const SECRET_NAMES = new Set([
  'authorization',
  'proxyauthorization',
  'accountkey',
  'masterkey',
  'primarykey',
  'secondarykey',
  'primaryreadonlymasterkey',
  'secondaryreadonlymasterkey',
  'clientsecret',
  'connectionstring',
  'password',
  'secret',
  'sig',
  'token',
  'accesstoken',
  'cookie',
]);

// Patterns of secrets in text. The replacement keeps the text that shows which kind of secret was there.
const SECRET_TEXTS: ReadonlyArray<readonly [pattern: RegExp, kept: string]> = [
  [/(AccountKey\s*=\s*)[^;"'\s]+/gi, `$1${REDACTED}`],
  // A signature in a header: plain, and percent-encoded as Cosmos DB expects it.
  [/(\bsig=|%26sig%3D)[^&"'\s,}]+/gi, `$1${REDACTED}`],
  [/(\bBearer\s+)[A-Za-z0-9._~+/=-]+/gi, `$1${REDACTED}`],
  [/(\bauthorization["']?\s*[:=]\s*["']?)(?!\[redacted\])[^"'\r\n,}]+/gi, `$1${REDACTED}`],
  // A token without the word Bearer: three base64url parts.
  [/\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g, REDACTED],
  // An account key: 64 bytes in base64.
  [/[A-Za-z0-9+/]{86}==/g, REDACTED],
];

/** Returns `text` without the secrets that are recognized by their shape. */
export function redactText(text: string): string {
  return SECRET_TEXTS.reduce((clean, [pattern, kept]) => clean.replace(pattern, kept), text);
}

/** Returns a copy of `value` without secrets, which are recognized by name or by shape. Errors become plain objects. */
export function redact(value: unknown, name = ''): unknown {
  return plain(value, withoutSecret, name);
}

function withoutSecret(value: unknown, name: string): unknown {
  if (SECRET_NAMES.has(name.toLowerCase().replaceAll(/[-_]/g, '')))
    return value === undefined || value === null ? value : REDACTED;
  return typeof value === 'string' ? redactText(value) : value;
}
