/** What the kernel reads from bytes must be what the code that moves documents computes from values. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { latestVersionScan } from '../../../../src/documents/page-scan.ts';
import { positionOf } from '../../../../src/epk/effective-key.ts';
import { rekeyPaths } from '../../../../src/keys/rekey.ts';
import { kindOf, parseCandidate, planOf } from '../../../../src/plan/candidates/candidate.ts';
import { KeyColumns, ROW_STATE } from '../../../../src/plan/pass/key-columns.ts';
import { writeKeyWords } from '../../../../src/plan/pass/key-words.ts';
import { RowKey } from '../../../../src/plan/pass/row-key.ts';
import { draws } from '../../../helpers/generated.ts';

const CANDIDATES = [
  '/a',
  '/id',
  '/in/b',
  '/a,/in/b',
  '/in/b,/a,/id',
  '/pk={a}',
  '/pk=x{in.b}',
  '/pk={a}-{in.b}',
  '/a,/pk={a|lower}{{{in.b|upper}}}',
  '/pk={a|hash:400}',
  '/pk={a|trim|hash:7|pad:3}',
  '/pk={id|hash:2}/{a|default:none}/{in.b|default:"é"}',
  '/pk={a|slice:0:3}-{a|slice:-2}-{in.b|slice:1:-1}-{a|slice:5:2}',
  '/pk={a|pad:6}',
  '/pk={t|month}',
  '/pk={t|day}|{t|week}|{t|quarter}|{t|year}',
  '/pk={a}-{t|date:"yyyy/MM/dd HH:mm:ss.SSS"}',
  '/pk={t|default:2026-01-31|week}',
  '/pk={a}ü{a|lower|upper|trim}',
  '/in/pk={a}',
];

/** Texts of JSON values in every notation. */
const numbers = fc.oneof(
  fc.constantFrom('0', '-0', '-0.0', '1', '1.0', '1.50', '-7', '1e2', '1E-7', '12345678901234567', '1e400'),
  fc.constantFrom('9007199254740993', '999999999999999', '0.1', '-123.456', '1000000000000.001', '3.14e0'),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.integer().map(String),
);
const strange = fc.constantFrom(
  String.raw`"\u0061b"`,
  String.raw`"a\"b"`,
  String.raw`"\ud83d\ude00"`,
  String.raw`"\ud83d"`,
  String.raw`"\udc00x"`,
  '"😀"',
  '"é"',
  '"İSS"',
  '"  a "',
  '"\u00a0x"',
  '""',
  `"${'y'.repeat(990)}"`,
  `"${'y'.repeat(2049)}"`,
);
const texts = fc.string({ maxLength: 24 }).map((text) => JSON.stringify(text));
const values = fc.oneof(
  texts,
  numbers,
  strange,
  fc.constantFrom('true', 'false', 'null', '{"x":1}', '[1]', '{}'),
);
const two = (max: number): fc.Arbitrary<string> => fc.nat(max).map((n) => String(n).padStart(2, '0'));
const times = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(
        fc.constantFrom(
          '0001',
          '0000',
          '1600',
          '1900',
          '1970',
          '1999',
          '2000',
          '2020',
          '2021',
          '2024',
          '2100',
          '9999',
        ),
        two(13),
        two(32),
        fc.constantFrom('', 'T', ' ', 't', '_'),
        two(25),
        two(61),
        fc.constantFrom('', ':00', ':59', ':60', ':07.1', ':07.1234567', ':08,25', ':09.'),
        fc.constantFrom('', 'Z', 'z', '+02:00', '-0530', '+14', '-23:59', '+24:00', '+1', 'X'),
      )
      .map(([year, month, day, then, hour, minute, second, zone]) =>
        JSON.stringify(
          `${year}-${month}-${day}${then === '' ? '' : `${then}${hour}:${minute}${second}${zone}`}`,
        ),
      ),
  },
  fc.constantFrom(
    '99999999999',
    '100000000000',
    '-100000000000',
    '1705112530',
    '1705112530123',
    '-62135596800',
    '1.5',
  ),
  fc.integer({ min: -70_000_000_000, max: 260_000_000_000 }).map(String),
  fc.integer({ min: -70_000_000_000_000, max: 260_000_000_000_000 }).map(String),
  values,
);
const ids = fc.oneof({ weight: 8, arbitrary: texts }, values, fc.constant(undefined));
/** A value at the path of a derived property, in few documents. */
const taken = fc.constantFrom(undefined, undefined, undefined, undefined, undefined, '1');

const documents = fc
  .record(
    { id: ids, a: values, b: values, t: times, again: values, pk: taken, inPk: taken },
    { requiredKeys: ['id'] },
  )
  .map(({ id, a, b, t, again, pk, inPk }) => {
    const members: string[] = [];
    // A name may be repeated, and may be written with escapes: the last one counts.
    if (again !== undefined) members.push(`"a":${again}`, `"in":{"b":[${again}]}`);
    if (id !== undefined) members.push(`"id":${id}`);
    if (a !== undefined) members.push(String.raw`"\u0061":${a}`);
    const inner = [b === undefined ? '' : `"b":${b}`, inPk === undefined ? '' : `"pk":${inPk}`];
    if (b !== undefined) members.push(`"in" : {"deep":{"a":[{"b":0}]},${inner.filter(Boolean).join(',')}}`);
    if (t !== undefined) members.push(`"t": ${t} `);
    if (pk !== undefined) members.push(`"pk":${pk}`);
    return `{${[...members, '"_ts":1700000000', '"_lsn":5'].join(',')}}`;
  });

const plans = CANDIDATES.map((text) => {
  const candidate = parseCandidate(text);
  return { plan: planOf(candidate, ['/tenant']), kind: kindOf(candidate, 'hash-v2') };
});
const scan = latestVersionScan(plans.flatMap(({ plan }) => rekeyPaths(plan)));
const columns = new KeyColumns(
  scan,
  plans.map(({ plan }) => plan),
);
const keys = plans.map((parts) => new RowKey(scan, parts));

/** Reads a page with the kernel, and each row value by value: what differs, and how many keys the kernel has read. */
function compare(all: readonly string[]): { readonly differences: unknown[]; readonly read: number } {
  const differences: unknown[] = [];
  scan.scan(Buffer.from(`{"_rid":"x","Documents":[${all.join(',')}],"_count":${all.length}}`));
  columns.read(9);
  if (columns.count !== all.length) differences.push(columns.count);
  let read = 0;
  for (const [at, key] of keys.entries()) {
    const { states, positions, words } = columns.keys[at] ?? { states: [], positions: [], words: [] };
    for (let row = 0; row < all.length; row += 1) {
      if (states[row] === ROW_STATE.odd) continue;
      read += 1;
      const own = words.slice(row * 2 * key.levels, (row + 1) * 2 * key.levels);
      const ofKernel = [states[row], positions[row], ...own, ...columns.ids.slice(2 * row, 2 * row + 2)];
      const ofValues = key.read(row) ? readByValue(key, row) : [key.refusal];
      if (ofKernel.join() !== ofValues.join())
        differences.push({ key: CANDIDATES[at], document: all[row], ofKernel, ofValues });
    }
  }
  return { differences, read };
}

function readByValue(key: RowKey, row: number): unknown[] {
  if (JSON.stringify(key.valuesOf(row)) !== JSON.stringify(key.values)) return ['other values', key.values];
  const id = new Int32Array(2);
  writeKeyWords([JSON.parse(scan.bytes(row, scan.nodes.id).toString()) as string], id);
  const state = key.values.includes(undefined) ? ROW_STATE.keyWithoutValue : ROW_STATE.key;
  return [state, positionOf('multi-hash', key.values.slice(0, 1)), ...key.words, ...id];
}

test('any documents -> the kernel reads the keys that would be moved', () => {
  fc.assert(
    fc.property(fc.array(documents, { maxLength: 8 }), (all) => {
      expect(compare(all).differences).toEqual([]);
    }),
    { numRuns: draws(600) },
  );
});

test('ordinary documents -> all of them are read by the kernel', () => {
  const all = ['2026-01-31T12:34:56.789Z', '2024-02-29', '2021-01-03T23:30:00-02:00', '0001-01-01'].map(
    (t, n) => `{"id":"i${n}","a":"Zoë-${n}","in":{"b":${n}.5},"t":"${t}","_ts":1,"_lsn":1}`,
  );
  all.push('{"id":"n","a":12,"in":{"b":"x"},"t":1705112530,"_ts":1,"_lsn":1}', '{"id":"m","_ts":1,"_lsn":1}');
  const beyond = CANDIDATES.filter((text) => /^\/in\/pk|lower|slice|pad:6/.test(text)).length;
  const { differences, read } = compare(all);
  expect(differences).toEqual([]);
  expect(read).toBeGreaterThan((CANDIDATES.length - beyond - 3) * all.length);
});

test('rows beyond the fence -> left out, and the others keep their numbers', () => {
  const all = [1, 12, 3].map((lsn) => `{"id":"i${lsn}","_ts":${lsn},"_lsn":${lsn}}`);
  scan.scan(Buffer.from(`{"Documents":[${all.join(',')}]}`));
  columns.read(9);
  expect([columns.count, ...columns.rows.slice(0, 2), ...columns.ts.slice(0, 2)]).toEqual([2, 0, 2, 1, 3]);
});

test('pages of any size, one after the other -> each with its own rows', () => {
  for (const count of [3, 1025, 0, 2100, 1]) {
    const all = Array.from({ length: count }, (_none, n) => `{"id":"${n}","a":${n % 7},"_ts":1,"_lsn":1}`);
    const { differences, read } = compare(all);
    expect(differences).toEqual([]);
    expect(read).toBeGreaterThanOrEqual(count * 3);
  }
});
