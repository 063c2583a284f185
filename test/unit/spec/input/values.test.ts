import { describe, expect, test } from 'vitest';
import { Invalid } from '../../../../src/spec/input/given.ts';
import * as values from '../../../../src/spec/input/values.ts';

/** The value, or the example that is offered instead. */
function shown(value: unknown): unknown {
  return value instanceof Invalid ? { instead: value.example } : value;
}

const wrong = { instead: undefined };

describe('values: a container', () => {
  test.each([
    ['shop/orders', { database: 'shop', container: 'orders' }],
    ['Shop Data/Orders, 2024', { database: 'Shop Data', container: 'Orders, 2024' }],
    ['größe/éà', { database: 'größe', container: 'éà' }],
    [`d/${'c'.repeat(255)}`, { database: 'd', container: 'c'.repeat(255) }],
    ['shop', wrong],
    ['shop/', wrong],
    ['/orders', wrong],
    ['shop/orders/2024', wrong],
    ['shop/ord?ers', wrong],
    ['shop/ord#ers', wrong],
    ['shop\\data/orders', wrong],
    ['shop/orders ', wrong],
    [' shop/orders', wrong],
    ['shop/or\nders', wrong],
    [`d/${'c'.repeat(256)}`, wrong],
  ])('%j -> %j', (text, expected) => {
    expect(shown(values.parseContainerName(text))).toEqual(expected);
  });
});

describe('values: an endpoint -> one form', () => {
  test.each([
    ['https://acme.documents.azure.com', 'https://acme.documents.azure.com/'],
    ['https://acme.documents.azure.com:443/', 'https://acme.documents.azure.com/'],
    ['HTTPS://Acme.Documents.Azure.COM/', 'https://acme.documents.azure.com/'],
    ['https://localhost:8081', 'https://localhost:8081/'],
    ['http://localhost:8081/', 'http://localhost:8081/'],
    ['http://127.0.0.1:8081', 'http://127.0.0.1:8081/'],
    ['http://127.8.9.1:8081', 'http://127.8.9.1:8081/'],
    ['http://[::1]:8081', 'http://[::1]:8081/'],
    ['http://acme.documents.azure.com', { instead: 'https://acme.documents.azure.com' }],
    ['http://127.0.0.1.example.com/', { instead: 'https://127.0.0.1.example.com' }],
    ['http://localhost.example.com/', { instead: 'https://localhost.example.com' }],
    ['https://acme.documents.azure.com/dbs/shop', { instead: 'https://acme.documents.azure.com' }],
    ['https://acme.documents.azure.com/?x=1', { instead: 'https://acme.documents.azure.com' }],
    ['https://acme.documents.azure.com/#x', { instead: 'https://acme.documents.azure.com' }],
    ['acme.documents.azure.com', wrong],
    ['acme', wrong],
    ['ftp://acme/', wrong],
    ['file:///etc/passwd', wrong],
  ])('%s', (text, expected) => {
    expect(shown(values.readEndpoint(text))).toEqual(expected);
  });
});

describe('values: an RU budget', () => {
  test.each([
    ['400', { kind: 'ru', ru: 400 }],
    ['1', { kind: 'ru', ru: 1 }],
    ['1%', { kind: 'percent', percent: 1 }],
    ['100%', { kind: 'percent', percent: 100 }],
    ['0', wrong],
    ['0%', wrong],
    ['101%', wrong],
    ['12.5%', wrong],
    ['-5', wrong],
    ['1e3', wrong],
    ['50 %', wrong],
    ['10000001', wrong],
    ['lots', wrong],
  ])('%s -> %j', (text, expected) => {
    expect(shown(values.readBudget(text))).toEqual(expected);
  });
});

describe('values: throughput in steps', () => {
  test.each([
    ['400', 400],
    ['500', 500],
    ['1000000', 1_000_000],
    ['399', { instead: '400' }],
    ['450', { instead: '500' }],
    ['0', { instead: '400' }],
    ['1000100', { instead: '1000000' }],
    ['4k', wrong],
  ])('manual %s -> %j', (text, expected) => {
    expect(shown(values.readManualThroughput(text))).toEqual(expected);
  });

  test.each([
    ['1000', 1000],
    ['10000', 10_000],
    ['400', { instead: '1000' }],
    ['1500', { instead: '2000' }],
    ['', wrong],
  ])('autoscale %s -> %j', (text, expected) => {
    expect(shown(values.readAutoscaleThroughput(text))).toEqual(expected);
  });
});

describe('values: a duration', () => {
  test.each([
    ['90s', 90_000],
    ['30m', 1_800_000],
    ['2h', 7_200_000],
    ['1h30m', 5_400_000],
    ['1d2h3m4s', 93_784_000],
    ['20d', 1_728_000_000],
    ['480h', 1_728_000_000],
    ['0s', wrong],
    ['2', wrong],
    ['', wrong],
    ['30m1h', wrong],
    ['1.5h', wrong],
    ['2 h', wrong],
    ['-2h', wrong],
    ['20d1s', wrong],
    ['2H', wrong],
  ])('%s -> %j', (text, expected) => {
    expect(shown(values.readDuration(text))).toEqual(expected);
  });
});

describe('values: a time of day', () => {
  test.each([
    ['05:30', 330],
    ['5:30', 330],
    ['00:00', 0],
    ['23:59', 1439],
    ['24:00', wrong],
    ['12:60', wrong],
    ['5', wrong],
    ['5:3', wrong],
    ['05:30:00', wrong],
    ['5pm', wrong],
  ])('%s -> %j', (text, expected) => {
    expect(shown(values.readTimeOfDay(text))).toEqual(expected);
  });

  test.each([
    ['later the same day', 'UTC', '2026-03-10T04:00:00Z', '05:30', '2026-03-10T05:30:00Z'],
    ['tomorrow when it has passed', 'UTC', '2026-03-10T06:00:00Z', '05:30', '2026-03-11T05:30:00Z'],
    ['tomorrow when it is that minute', 'UTC', '2026-03-10T05:30:20Z', '05:30', '2026-03-11T05:30:00Z'],
    ['of this machine', 'America/New_York', '2026-01-10T04:00:00Z', '05:30', '2026-01-10T10:30:00Z'],
    ['midnight', 'Europe/Berlin', '2026-01-10T12:00:00Z', '00:00', '2026-01-10T23:00:00Z'],
    // 2026-03-29: 02:00 becomes 03:00, so that 02:30 is never shown; 2026-10-25: 02:30 is shown twice.
    ['skipped by the clock', 'Europe/Berlin', '2026-03-29T00:00:00Z', '02:30', '2026-03-29T01:00:00Z'],
    ['shown twice, the first', 'Europe/Berlin', '2026-10-25T00:00:00Z', '02:30', '2026-10-25T00:30:00Z'],
    ['shown twice, the second', 'Europe/Berlin', '2026-10-25T00:40:00Z', '02:30', '2026-10-25T01:30:00Z'],
    ['a day of 25 hours', 'Europe/Berlin', '2026-10-24T22:30:00Z', '00:30', '2026-10-25T23:30:00Z'],
    // 2026-04-24: 00:00 becomes 01:00.
    ['skipped at midnight', 'Africa/Cairo', '2026-04-23T20:00:00Z', '00:30', '2026-04-23T22:00:00Z'],
    ['a midnight that is skipped', 'Africa/Cairo', '2026-04-23T20:00:00Z', '00:00', '2026-04-23T22:00:00Z'],
    // 2026-04-05: 00:00 becomes 23:00.
    ['midnight shown once', 'America/Santiago', '2026-04-05T02:00:00Z', '00:00', '2026-04-05T04:00:00Z'],
    ['in a zone of odd minutes', 'Australia/Eucla', '2026-01-10T00:00:00Z', '09:00', '2026-01-10T00:15:00Z'],
  ])('the next one, %s in %s at %s, for %s -> %s', (_case, zone, now, text, expected) => {
    const before = process.env['TZ'];
    process.env['TZ'] = zone;
    try {
      const minutes = values.readTimeOfDay(text);
      const atMs = values.nextTimeOfDay(Number(minutes), Date.parse(now));
      expect(new Date(atMs).toISOString()).toBe(new Date(expected).toISOString());
      expect(values.localZone()).toBe(zone);
    } finally {
      if (before === undefined) delete process.env['TZ'];
      else process.env['TZ'] = before;
    }
  });
});

describe('values: switches, limits and choices', () => {
  test.each([
    ['true', true],
    ['TRUE', true],
    ['false', false],
    ['yes', { instead: 'true' }],
    ['1', { instead: 'true' }],
  ])('switch %s -> %j', (text, expected) => {
    expect(shown(values.readSwitch(text))).toEqual(expected);
  });

  test.each([
    ['0', 0],
    ['10000', 10_000],
    ['-1', wrong],
    ['1.5', wrong],
    ['9999999999', { instead: '1000000000' }],
  ])('dead letters %s -> %j', (text, expected) => {
    expect(shown(values.readDeadLettersMax(text))).toEqual(expected);
  });

  test('a misspelt choice -> the nearest one is offered', () => {
    const read = values.readChoice(['restart', 'remaining']);
    expect(['restart', 'remainig', 'later'].map((text) => shown(read(text)))).toEqual([
      'restart',
      { instead: 'remaining' },
      { instead: 'restart' },
    ]);
  });
});
