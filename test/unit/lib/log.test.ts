import { expect, test } from 'vitest';
import { ServiceError } from '../../../src/lib/errors.ts';
import { safeStringify } from '../../../src/lib/json/json.ts';
import { createLog, redact, redactText, type LogLevel } from '../../../src/lib/log.ts';
import { VirtualClock } from '../../helpers/clock.ts';

// Shaped like an account key (64 bytes in base64), made here so that no key stands in the repository.
const KEY = Buffer.alloc(64, 0xab).toString('base64');
const SIGNATURE = 'q1w2e3r4t5';

function written(format: 'text' | 'json', level: LogLevel = 'info') {
  const lines: string[] = [];
  const log = createLog({ format, level, clock: new VirtualClock(), write: (line) => lines.push(line) });
  return { log, lines };
}

test('log: text format -> a sentence and its fields', () => {
  const { log, lines } = written('text');
  log.warn('range is gone', { range: '3', pages: 2, why: 'it was split' });
  expect(lines).toEqual(['00:00:00 warn range is gone range=3 pages=2 why="it was split"\n']);
});

test('log: JSON format -> one object a line', () => {
  const { log, lines } = written('json');
  log.info('ready', { port: 8081 });
  expect(lines).toEqual([
    '{"time":"2026-01-01T00:00:00.000Z","level":"info","message":"ready","port":8081}\n',
  ]);
});

test('log: below its level -> nothing is written', () => {
  const { log, lines } = written('text', 'warn');
  log.debug('a');
  log.info('b');
  log.error('c');
  expect(lines).toEqual(['00:00:00 error c\n']);
});

test.each([
  [
    `AccountEndpoint=http://localhost/;AccountKey=${KEY};`,
    'AccountEndpoint=http://localhost/;AccountKey=[redacted];',
  ],
  ['AccountKey = short', 'AccountKey = [redacted]'],
  [`type=master&ver=1.0&sig=${SIGNATURE}`, 'type=master&ver=1.0&sig=[redacted]'],
  [`type%3Dmaster%26ver%3D1.0%26sig%3D${SIGNATURE}%3D`, 'type%3Dmaster%26ver%3D1.0%26sig%3D[redacted]'],
  ['Bearer abc.def-123', 'Bearer [redacted]'],
  ['authorization: Basic abc', 'authorization: [redacted]'],
  [`{"Authorization":"${SIGNATURE}"}`, '{"Authorization":"[redacted]"}'],
  [`the key is ${KEY}!`, 'the key is [redacted]!'],
  ['/design?partitionKey=a', '/design?partitionKey=a'],
])('log: %s -> the secret is redacted', (text, expected) => {
  expect(redactText(text)).toBe(expected);
});

test('log: secrets in nested objects, headers, errors and causes -> redacted', () => {
  const cause = Object.assign(new Error(`sent sig=${SIGNATURE}`), {
    headers: { authorization: SIGNATURE, 'x-ms-date': 'today' },
  });
  const error = new ServiceError(`refused AccountKey=${KEY}`, {
    why: 'w',
    hint: 'h',
    cause,
    details: { requests: [{ primaryMasterKey: 'shown by mistake? no', master_key: KEY, partitionKey: 'a' }] },
  });
  const text = safeStringify(redact({ error, many: new AggregateError([cause], 'both') }));
  expect(text).not.toContain(KEY);
  expect(text).not.toContain(SIGNATURE);
  expect(text).toContain('"x-ms-date":"today"');
  expect(text).toContain('"partitionKey":"a"');
  const { log, lines } = written('text');
  log.error('failed', { error, authorization: SIGNATURE, tokens: [`Bearer ${SIGNATURE}`] });
  expect(lines.join('')).not.toContain(SIGNATURE);
  expect(lines.join('')).not.toContain(KEY);
});

test('log: cycles, big integers, getters that throw -> a line is written', () => {
  const loop: Record<string, unknown> = { count: 9223372036854775807n };
  loop['self'] = loop;
  expect(safeStringify(loop)).toBe('{"count":"9223372036854775807","self":"[circular]"}');
  expect(safeStringify(redact(loop))).toBe('{"count":"9223372036854775807","self":"[circular]"}');
  const trap = {
    get broken(): string {
      throw new Error('no');
    },
  };
  expect(safeStringify(trap)).toBe('"[unwritable]"');
  expect(safeStringify(undefined)).toBe('null');
});
