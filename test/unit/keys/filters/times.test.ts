import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { filtered } from '../../../helpers/key-plan.ts';
import '../../../helpers/seed.ts';

const WHOLE = 'date:yyyy-MM-dd HH:mm:ss.SSS';

describe('what is read as a time', () => {
  test.each<[value: unknown, expected: string | undefined]>([
    ['2024-05-17', '2024-05-17 00:00:00.000'],
    ['2024-05-17T08:09', '2024-05-17 08:09:00.000'],
    ['2024-05-17T08:09:10', '2024-05-17 08:09:10.000'],
    ['2024-05-17T08:09:10Z', '2024-05-17 08:09:10.000'],
    ['2024-05-17t08:09:10z', '2024-05-17 08:09:10.000'],
    ['2024-05-17 08:09:10+00:00', '2024-05-17 08:09:10.000'],
    ['2024-05-17T08:09:10.5Z', '2024-05-17 08:09:10.500'],
    ['2024-05-17T08:09:10,25Z', '2024-05-17 08:09:10.250'],
    ['2024-05-17T08:09:10.9999999Z', '2024-05-17 08:09:10.999'],
    ['2024-05-17T00:30:00+01:00', '2024-05-16 23:30:00.000'],
    ['2024-05-17T23:30:00-0130', '2024-05-18 01:00:00.000'],
    ['2024-05-17T23:30:00-01', '2024-05-18 00:30:00.000'],
    ['2024-02-29', '2024-02-29 00:00:00.000'],
    ['2000-02-29', '2000-02-29 00:00:00.000'],
    ['0001-01-01', '0001-01-01 00:00:00.000'],
    ['0099-12-31', '0099-12-31 00:00:00.000'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31 23:59:59.999'],
    [0, '1970-01-01 00:00:00.000'],
    [-0, '1970-01-01 00:00:00.000'],
    [-1, '1969-12-31 23:59:59.000'],
    [1.5, '1970-01-01 00:00:01.500'],
    [1_700_000_000, '2023-11-14 22:13:20.000'],
    [1_700_000_000_000, '2023-11-14 22:13:20.000'],
    [1_700_000_000_123.9, '2023-11-14 22:13:20.123'],
    [2_147_483_648, '2038-01-19 03:14:08.000'],
    [99_999_999_999, '5138-11-16 09:46:39.000'],
    [100_000_000_000, '1973-03-03 09:46:40.000'],
    [-99_999_999_999, 'invalid: the time is not in the years 1 to 9999'],
    [-100_000_000_000, '1966-10-31 14:13:20.000'],
    [253_402_300_799_999, '9999-12-31 23:59:59.999'],
    [253_402_300_800_000, 'invalid: the time is not in the years 1 to 9999'],
    [1_700_000_000_000_000, 'invalid: the time is not in the years 1 to 9999'],
    [Number.MAX_SAFE_INTEGER, 'invalid: the time is not in the years 1 to 9999'],
    [Number.MAX_VALUE, 'invalid: the number is beyond 2^53, where neighbours read alike'],
    ['0001-01-01T00:00:00+00:01', 'invalid: the time is not in the years 1 to 9999'],
    ['9999-12-31T23:59:59-00:01', 'invalid: the time is not in the years 1 to 9999'],
    ['0000-12-31', 'invalid: the time is not in the years 1 to 9999'],
    ['2023-02-29', 'invalid: the text looks like a date, but that day or time does not exist'],
    ['1900-02-29', 'invalid: the text looks like a date, but that day or time does not exist'],
    ['2024-04-31', 'invalid: the text looks like a date, but that day or time does not exist'],
    ['2024-13-01', 'invalid: the text looks like a date, but that day or time does not exist'],
    ['2024-00-01', 'invalid: the text looks like a date, but that day or time does not exist'],
    ['2024-01-00', 'invalid: the text looks like a date, but that day or time does not exist'],
    ['2024-05-17T24:00:00Z', 'invalid: the text looks like a date, but that day or time does not exist'],
    ['2016-12-31T23:59:60Z', 'invalid: the text looks like a date, but that day or time does not exist'],
    ['', 'invalid: the text is not an ISO 8601 date'],
    ['2024', 'invalid: the text is not an ISO 8601 date'],
    ['2024-05', 'invalid: the text is not an ISO 8601 date'],
    ['2024-5-7', 'invalid: the text is not an ISO 8601 date'],
    ['17.05.2024', 'invalid: the text is not an ISO 8601 date'],
    ['05/17/2024', 'invalid: the text is not an ISO 8601 date'],
    [' 2024-05-17', 'invalid: the text is not an ISO 8601 date'],
    ['2024-05-17\n', 'invalid: the text is not an ISO 8601 date'],
    ['2024-05-17Z', 'invalid: the text is not an ISO 8601 date'],
    ['2024-05-17T08:09:10 Z', 'invalid: the text is not an ISO 8601 date'],
    ['٢٠٢٤-٠٥-١٧', 'invalid: the text is not an ISO 8601 date'],
    ['1700000000', 'invalid: the text is not an ISO 8601 date'],
    ['today', 'invalid: the text is not an ISO 8601 date'],
    [true, 'invalid: only a text or a number can be a date'],
    [undefined, undefined],
    [null, 'invalid: only a text or a number can be a date'],
  ])('%j -> %s', (value, expected) => {
    expect(filtered(WHOLE, value)).toBe(expected);
  });
});

describe('buckets', () => {
  // The weeks are those of `date +%G-W%V`.
  test.each([
    ['2020-12-31', '2020-W53', '2020-Q4'],
    ['2021-01-01', '2020-W53', '2021-Q1'],
    ['2021-01-03', '2020-W53', '2021-Q1'],
    ['2021-01-04', '2021-W01', '2021-Q1'],
    ['2024-12-29', '2024-W52', '2024-Q4'],
    ['2024-12-30', '2025-W01', '2024-Q4'],
    ['2023-01-01', '2022-W52', '2023-Q1'],
    ['2026-12-31', '2026-W53', '2026-Q4'],
    ['2024-02-29', '2024-W09', '2024-Q1'],
    ['2024-03-31', '2024-W13', '2024-Q1'],
    ['2024-04-01', '2024-W14', '2024-Q2'],
    ['2024-06-30', '2024-W26', '2024-Q2'],
    ['2024-07-01', '2024-W27', '2024-Q3'],
    ['2024-10-01', '2024-W40', '2024-Q4'],
    ['1970-01-01', '1970-W01', '1970-Q1'],
    ['1969-12-28', '1969-W52', '1969-Q4'],
    ['1969-12-29', '1970-W01', '1969-Q4'],
    ['0001-01-01', '0001-W01', '0001-Q1'],
    ['9999-12-31', '9999-W52', '9999-Q4'],
  ])('%s -> week %s and quarter %s', (date, week, quarter) => {
    expect([filtered('week', date), filtered('quarter', date)]).toEqual([week, quarter]);
    expect([filtered('day', date), filtered('month', date), filtered('year', date)]).toEqual([
      date,
      date.slice(0, 7),
      date.slice(0, 4),
    ]);
  });

  test.each([
    ['date:yyyyMMdd', '20240517'],
    ['date:yyyy/MM', '2024/05'],
    ['date:HH:mm', '08:09'],
    ['date:yyyy.MM.dd HH', '2024.05.17 08'],
    ['date:"yyyy|MM"', '2024|05'],
    ['date:MMdd', '0517'],
  ])('%s -> %s', (filter, expected) => {
    expect(filtered(filter, '2024-05-17T08:09:10Z')).toBe(expected);
  });

  test('any time, as text or a number -> what JavaScript prints', () => {
    const times = fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true });
    fc.assert(
      fc.property(times, (time) => {
        const text = time.toISOString();
        expect(filtered(WHOLE, text)).toBe(text.replace('T', ' ').slice(0, -1));
        const number = Math.abs(time.getTime()) < 1e11 ? time.getTime() / 1000 : time.getTime();
        expect(filtered('day', number)).toBe(text.slice(0, 10));
      }),
    );
  });

  test('days in a row -> seven make a week, and weeks sort as their days do', () => {
    const days = fc.integer({ min: -700_000, max: 2_900_000 });
    fc.assert(
      fc.property(days, (day) => {
        const week = (offset: number): string =>
          String(filtered('week', new Date((day + offset) * 86_400_000)));
        expect(week(7) > week(0)).toBe(true);
        expect(new Set([0, 1, 2, 3, 4, 5, 6].map(week)).size).toBeLessThanOrEqual(2);
      }),
    );
  });
});
