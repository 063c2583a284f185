import { expect, test } from 'vitest';
import { verifyJson, verifyText } from '../../../src/report/verify.ts';
import type { Verdict } from '../../../src/verify/verdict.ts';
import { VERDICT } from './verdict.ts';

test('verify text: a count -> its level, ranges and dead letters', () => {
  expect(verifyText(VERDICT).split('\n')).toEqual([
    'migration            shop/orders -> shop/by-tenant',
    'level                count (the content of documents is not compared)',
    'equal                yes, in number',
    'source               66,003 documents',
    '  0                           1,000  [, 01FFFFFF..)',
    ...[1, 2, 3, 4, 5, 6, 7].map(
      (n) => `  ${n}                           ${n + 1},000  [0${n}FFFFFF.., 0${n + 1}FFFFFF..)`,
    ),
    '  3 more                     30,000  one by one with --json',
    'target               66,000 documents',
    '  0                           1,000  [, 01FFFFFF..)',
    'differences          none',
    'dead letters         5 open, 1 discarded; 3 of the open ones cannot be in the',
    '                     target',
    'RU                   12 source, 13 target',
    'took                 0.9 s',
  ]);
  expect(verifyJson(VERDICT)).toMatchObject({
    level: 'count',
    ranges: VERDICT.details.ranges,
  });
});

test('verify text: a count in flight -> no age', () => {
  const text = verifyText({ ...VERDICT, equal: null, inFlight: 2 });
  expect(text).toMatch(/^in flight +2 documents$/m);
});

test('verify text: a digest -> documents, no ranges', () => {
  const digest = { ...VERDICT, level: 'digest' } as const;
  expect(verifyText(digest)).toMatch(/^equal +yes\nsource +66,003 documents\ntarget +66,000 documents\n/m);
  expect(verifyJson(digest)).not.toHaveProperty('ranges');
});

test('verify text: differences, in flight, dead letters -> words with counts', () => {
  const [id, sourceKey, targetKey] = ['o1', ['a'], ['b']];
  const sample = { kind: 'wrongSlot', id, sourceKey, targetKey } as const;
  const text = verifyText({
    ...VERDICT,
    level: 'digest',
    equal: false,
    differences: { missing: 0, extra: 2, different: 0, wrongSlot: 1 },
    inFlight: 2,
    samples: [sample],
    // The oldest need not be among those that are listed.
    details: {
      ...VERDICT.details,
      listed: { inFlight: [{ ...sample, ageMs: 1000 }], differences: [sample, sample, sample], waived: [] },
      oldestInFlightMs: 61_000,
    },
  });
  expect(text.split('\n').slice(5)).toEqual([
    'differences          2 extra, 1 wrong key',
    'in flight            2 documents, the oldest for 1 min',
    'dead letters         5 open, 1 discarded; their documents do not count as',
    '                     differences',
    'RU                   12 source, 13 target',
    'took                 0.9 s',
    'wrong key    "o1"  source key ["a"]  target key ["b"]',
    'and 2 more; --report FILE lists all of them',
  ]);
});

test('verify text: long settings with a common prefix -> shown from the first difference', () => {
  const policy = (last: string): string =>
    JSON.stringify({ paths: ['/*', '/some/name/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/?', last] });
  const settings = [{ setting: 'indexing', source: policy('/x/?'), target: policy('/y/?') }] as const;
  expect(verifyText({ ...VERDICT, settings })).toContain(
    String.raw`indexing: .../j/k/l/m/n/o/p/?","/x/?"]} in the source, .../j/k/l/m/n/o/p/?","/y/?"]} in the target`,
  );
  const ttl = [{ setting: 'TTL', source: 'off', target: '60 s' }] as const;
  expect(verifyText({ ...VERDICT, settings: ttl })).toContain('TTL: off in the source, 60 s in the target');
});

test('documents that were compared again -> no line is wider than a terminal of 80 columns', () => {
  const details = { ...VERDICT.details, lookedAtAgain: 1 };
  const text = verifyText({ ...VERDICT, level: 'digest', details });
  expect(text).toContain('1 document one by one');
  expect(text.split('\n').filter((line) => line.length > 80)).toEqual([]);
});

test.each([
  [66_000, 'one by one after both sides were read: what had changed or seemed to differ'],
  [
    66_003,
    'one by one after both sides were read: what had changed or seemed to differ; the numbers of source and target are from before that',
  ],
])(
  'verify text: %d documents of 66,000 equal after a repair -> says which numbers are older',
  (count, row) => {
    const details = { ...VERDICT.details, lookedAtAgain: 3, isResumed: true };
    const text = verifyText({ ...VERDICT, level: 'digest', source: { count }, details });
    expect(text.replaceAll(/\s+/g, ' ')).toContain(`rechecked 3 documents ${row} dead letters`);
    // What is not proven may be why the numbers differ.
    expect(verifyText({ ...VERDICT, equal: null, source: { count }, details })).not.toContain('from before');
    expect(text.split('\n').filter((line) => line.length > 80)).toEqual([]);
  },
);

test('verify text: after the commit -> what differs is not called in flight', () => {
  const verdict = { ...VERDICT, level: 'digest', equal: null, inFlight: 2 } as const;
  expect(verifyText(verdict)).toMatch(/^in flight +2 documents$/m);
  expect(verifyText(verdict, true)).toMatch(/^not replicated +2 documents$/m);
});

test('verify text: documents written while both sides were read -> says of which moment unequal numbers are', () => {
  const digest = { ...VERDICT, level: 'digest' } as const;
  const rowsOf = (known: Partial<Verdict>, isResumed = false): string[] => {
    const details = { ...VERDICT.details, lookedAtAgain: 3, isResumed };
    const rows = verifyText({ ...digest, details, ...known }).split('\n');
    return rows.filter((row) => /^(?:source|target) /.test(row));
  };
  const read = 'when it was read';
  expect(rowsOf({})).toEqual([
    `source               66,003 documents ${read}`,
    `target               66,000 documents ${read}`,
  ]);
  const differing = { equal: false, differences: { ...VERDICT.differences, extra: 0, wrongSlot: 0 } };
  const lost = { ...differing, differences: { ...differing.differences, missing: 3 } };
  expect(rowsOf(lost)).toEqual([
    'source               66,003 documents',
    'target               66,000 documents',
  ]);
  // Fewer documents are in the side that has documents too many.
  const more = { ...differing, differences: { ...differing.differences, extra: 2 } };
  expect(rowsOf(more)).toEqual([
    `source               66,003 documents ${read}`,
    `target               66,000 documents ${read}`,
  ]);
  const details = { ...VERDICT.details, lookedAtAgain: 3 };
  const older = 'the numbers of source and target are from before that';
  const textOf = (known: Partial<Verdict>): string =>
    verifyText({ ...digest, details, ...known }).replaceAll(/\s+/g, ' ');
  expect(textOf(more)).toContain(older);
  expect(textOf(lost)).not.toContain(older);
  const from = 'read from 1970-01-01 00:00:00Z on';
  expect(rowsOf({}, true)).toEqual([
    `source               66,003 documents, ${from}`,
    `target               66,000 documents, ${from}`,
  ]);
});
