import { expect, test } from 'vitest';
import { evaluate } from '../../asking.ts';

const [EARLY, LATE] = ['"2018-03-05T05:00:00.0000000"', '"2019-02-04T16:00:00.0000000"'];
const PRECISE = '"2016-05-29T08:30:00.1301617"';
const NOON = '"2021-01-08T18:35:00.0000000"';

// The values are those of the service's documentation, as far as it has them.
test.each([
  ['DateTimeAdd("yyyy", 1, "2020-07-03T00:00:00.0000000")', '2021-07-03T00:00:00.0000000Z'],
  ['DateTimeAdd("mm", 1, "2020-07-03T00:00:00.0000000")', '2020-08-03T00:00:00.0000000Z'],
  ['DateTimeAdd("mm", -7, "2020-07-31T01:02:03.0000004Z")', '2019-12-31T01:02:03.0000004Z'],
  ['DateTimeAdd("m", 1, "2020-01-31T00:00:00Z")', '2020-02-29T00:00:00.0000000Z'],
  ['DateTimeAdd("year", 1, "2020-02-29")', '2021-02-28T00:00:00.0000000Z'],
  ['DateTimeAdd("dd", -1, "2020-07-03T00:00:00.0000000")', '2020-07-02T00:00:00.0000000Z'],
  ['DateTimeAdd("hh", -1, "2020-07-03T00:00:00.0000000")', '2020-07-02T23:00:00.0000000Z'],
  ['DateTimeAdd("ss", 5 * -5, "2020-07-03T00:00:00.0000000")', '2020-07-02T23:59:35.0000000Z'],
  ['DateTimeAdd("ns", -100, "1970-01-01")', '1969-12-31T23:59:59.9999999Z'],
  ['DateTimeAdd("century", 1, "2020-07-03T00:00:00.0000000")', undefined],
  ['DateTimeAdd("dd", 0.5, "2020-07-03T00:00:00.0000000")', undefined],
  ['DateTimeAdd("dd", 1, "2020-02-30T00:00:00.0000000")', undefined],
  ['DateTimeAdd("dd", 1, "2020-07-03T24:00:00.0000000")', undefined],
  ['DateTimeAdd("dd", 1, c.missing)', undefined],
  ['DateTimeAdd("yyyy", 8000, "2020-07-03T00:00:00.0000000")', undefined],

  [`DateTimeDiff("yyyy", ${LATE}, ${EARLY})`, -1],
  [`DateTimeDiff("mm", ${LATE}, ${EARLY})`, -11],
  [`DateTimeDiff("dd", ${LATE}, ${EARLY})`, -336],
  [`DateTimeDiff("hh", ${LATE}, ${EARLY})`, -8075],
  [`DateTimeDiff("ss", ${LATE}, ${EARLY})`, -29070000],
  [`DateTimeDiff("mm", ${EARLY}, ${LATE})`, 11],
  ['DateTimeDiff("day", "2020-01-01T23:59:59Z", "2020-01-02T00:00:00Z")', 1],
  ['DateTimeDiff("day", "1969-12-31T23:00:00Z", "1970-01-01T01:00:00Z")', 1],
  ['DateTimeDiff("ns", "2020-01-01", "2020-01-01T00:00:00.0000003Z")', 300],
  ['DateTimeDiff("day", 1, "2020-01-02T00:00:00Z")', undefined],

  ['DateTimeFromParts(2017, 4, 20)', '2017-04-20T00:00:00.0000000Z'],
  ['DateTimeFromParts(2017, 4, 20, 13, 15)', '2017-04-20T13:15:00.0000000Z'],
  ['DateTimeFromParts(2017, 4, 20, 13, 15, 20, 3456789)', '2017-04-20T13:15:20.3456789Z'],
  ['DateTimeFromParts(-2000, -1, -1)', undefined],
  ['DateTimeFromParts(2017, 4, 31)', undefined],
  ['DateTimeFromParts(2017, 4, "20")', undefined],

  [`DateTimePart("yyyy", ${PRECISE})`, 2016],
  [`DateTimePart("mm", ${PRECISE})`, 5],
  [`DateTimePart("dd", ${PRECISE})`, 29],
  [`DateTimePart("hh", ${PRECISE})`, 8],
  [`DateTimePart("mi", ${PRECISE})`, 30],
  [`DateTimePart("ss", ${PRECISE})`, 0],
  [`DateTimePart("ms", ${PRECISE})`, 130],
  [`DateTimePart("mcs", ${PRECISE})`, 130161],
  [`DateTimePart("ns", ${PRECISE})`, 130161700],
  [`DateTimePart("week", ${PRECISE})`, undefined],

  [`DateTimeBin(${NOON}, "dd")`, '2021-01-08T00:00:00.0000000Z'],
  [`DateTimeBin(${NOON}, "hh")`, '2021-01-08T18:00:00.0000000Z'],
  [`DateTimeBin(${NOON}, "hh", 5)`, '2021-01-08T15:00:00.0000000Z'],
  [`DateTimeBin(${NOON}, "dd", 7)`, '2021-01-07T00:00:00.0000000Z'],
  [`DateTimeBin(${NOON}, "dd", 7, "1601-01-01T00:00:00.0000000")`, '2021-01-04T00:00:00.0000000Z'],
  [`DateTimeBin(${NOON}, "mm", 6)`, '2021-01-01T00:00:00.0000000Z'],
  [`DateTimeBin(${NOON}, "mm", 1, "2020-01-15")`, '2020-12-15T00:00:00.0000000Z'],
  [`DateTimeBin(${NOON}, "dd", 0)`, undefined],
  [`DateTimeBin(${NOON}, "dd", 7, "someday")`, undefined],

  ['DateTimeToTicks("2015-05-19T12:00:00.0000000")', 14320368000000000],
  ['DateTimeToTimestamp("2015-05-19T12:00:00.0000000")', 1432036800000],
  ['DateTimeToTimestamp("1969-12-31T23:59:59.9999999Z")', -1],
  ['DateTimeToTicks("19 May 2015")', undefined],
  ['TicksToDateTime(15973607943002652)', '2020-08-13T23:19:54.3002652Z'],
  ['TicksToDateTime(0)', '1970-01-01T00:00:00.0000000Z'],
  ['TicksToDateTime(-116444736000000000)', '1601-01-01T00:00:00.0000000Z'],
  ['TimestampToDateTime(1432036800000)', '2015-05-19T12:00:00.0000000Z'],
  ['TimestampToDateTime(1e18)', undefined],
  ['TimestampToDateTime(0.5)', undefined],
])('%s -> %j', (expression, expected) => {
  expect(evaluate(expression, '{}')).toEqual(expected);
});
