/** Ledgers that are damaged, newer, on a full disk or where nothing may be written: refused by name, and left as they are. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openDatabase } from '../../../src/lib/sqlite/sqlite.ts';
import type { LetterChange } from '../../../src/state/dead-letters.ts';
import { canMount, runMounted } from '../../helpers/process/cosmig-process.ts';
import { runCosmig } from '../../helpers/run-cosmig.ts';
import {
  beginLease,
  hashOf,
  intendPage,
  NOW_MS,
  openLedger,
  temporaryFolder,
} from '../../unit/state/making.ts';

const COMMANDS = ['status', 'dead-letters list --all', 'dead-letters show 1', 'dead-letters discard 1'];
const PAGES = 20;
/** How long the header of a SQLite file is. */
const HEADER_BYTES = 100;
const LETTERS = 40;

function letter(name: string): LetterChange {
  return {
    change: 'open',
    letter: {
      identity: hashOf(name),
      reason: 'collision',
      code: '409',
      why: 'another document holds its place',
      id: JSON.stringify(name),
      sourceKey: '["A"]',
      targetKey: '["P"]',
      slot: hashOf('p'),
      waits: { for: 'slot', slot: hashOf('p') },
      atMs: NOW_MS,
    },
  };
}

/** A ledger with something in most of its tables, closed. */
function make(): string {
  const path = join(temporaryFolder(), 'ledger.db');
  using ledger = openLedger(path);
  const lease = beginLease(ledger);
  for (let page = 0; page < PAGES; page += 1) {
    const documents = Array.from({ length: 100 }, (_, index) => {
      return { identity: `${page}.${index}`, slot: `${page}.${index}` };
    });
    intendPage(ledger, { lease, documents, position: `"${page}"` })();
  }
  const letters = Array.from({ length: LETTERS }, (_, index) => letter(`d${index}`));
  ledger.units.commit([{ unit: ledger.units.nextUnit(), move: null, letters }], {
    counters: { documentsRead: 2000 },
  });
  ledger.runs.begin({ command: 'copy', pid: 1, nowMs: NOW_MS });
  return path;
}

function run(line: string, path: string): ReturnType<typeof runCosmig> {
  return runCosmig([...line.split(' '), '--ledger', path]);
}

function copyOf(bytes: Buffer): string {
  const path = join(temporaryFolder(), 'ledger.db');
  writeFileSync(path, bytes);
  return path;
}

describe('ledger: damaged', () => {
  test.each(COMMANDS)('cut off, opened by %s -> refused, and unchanged', async (line) => {
    const whole = readFileSync(make());
    for (const length of [100, 4096, whole.length / 2, whole.length - 4096]) {
      const path = copyOf(whole.subarray(0, length));
      const { code, stdout, stderr } = await run(line, path);
      expect({ length, code, stdout }).toEqual({ length, code: 7, stdout: '' });
      expect(stderr).toMatch(
        /^cosmig: .* is (?:not a database, or is )?damaged\n {2}why {2}.+\n {2}now {2}.+\n$/,
      );
      expect(readFileSync(path).subarray(0, 24).equals(whole.subarray(0, 24))).toBe(true);
    }
  });

  test('another value in any byte of the header -> read or refused, never an internal error', async () => {
    const whole = readFileSync(make());
    for (let at = 0; at < HEADER_BYTES; at += 1) {
      for (const value of [5, 255]) {
        const broken = Buffer.from(whole);
        broken[at] = value;
        const { code, stderr } = await run('status', copyOf(broken));
        expect({ at, value, code, stderr }).toEqual({ at, value, code: expect.toBeOneOf([0, 7]), stderr });
      }
    }
  });

  test('garbage at any byte -> read or refused, never an internal error', async () => {
    const whole = readFileSync(make());
    const garbage = fc.record({
      at: fc.nat(whole.length - 1),
      bytes: fc.uint8Array({ minLength: 1, maxLength: 5000 }),
      line: fc.constantFrom(...COMMANDS),
    });
    const seen = new Set<number>();
    await fc.assert(
      fc.asyncProperty(garbage, async ({ at, bytes, line }) => {
        const broken = Buffer.from(whole);
        broken.set(bytes.subarray(0, whole.length - at), at);
        const { code, stderr } = await run(line, copyOf(broken));
        seen.add(code);
        // 2: there is no dead letter of this number; 3: it is not open.
        expect({ code, stderr }).toEqual({ code: expect.toBeOneOf([0, 2, 3, 7]), stderr });
      }),
      { numRuns: 150 },
    );
    expect(seen).toContain(7);
  });

  test('empty, or a folder -> refused', async () => {
    const empty = copyOf(Buffer.alloc(0));
    expect(await run('status', empty)).toMatchObject({ code: 7, stdout: '' });
    expect(readFileSync(empty)).toHaveLength(0);
    const folder = join(temporaryFolder(), 'ledger.db');
    mkdirSync(folder);
    expect(await run('status', folder)).toMatchObject({ code: 7, stdout: '' });
  });
});

test.each(COMMANDS)(
  'ledger: newer, opened by %s -> refused with both versions, and unchanged',
  async (line) => {
    const path = make();
    const later = openDatabase({ path });
    later.exec("INSERT INTO cosmig_schema VALUES (999, 'ledger', '0999_later.sql', 'x', 'now')");
    later.pragma('journal_mode = DELETE');
    later.close();
    const before = readFileSync(path);
    const { code, stderr } = await run(line, path);
    expect(code).toBe(7);
    const known = readdirSync(new URL('../../../migrations/ledger/', import.meta.url)).length;
    expect(stderr).toContain(
      `ledger.db is newer than this cosmig\n  why  it is at schema version 999, and this cosmig knows versions up to ${known}\n`,
    );
    expect(readFileSync(path).equals(before)).toBe(true);
  },
);

// Needs a name space of our own for the mounts, which some machines forbid.
describe.skipIf(!canMount())('ledger: a disk', () => {
  test('read-only -> status works, and a discard is refused', async () => {
    const path = make();
    const folder = dirname(path);
    const names = readdirSync(folder);
    const script = [
      'mount --bind "$0" "$0"; mount -o remount,ro,bind "$0"',
      'cosmig status --ledger "$0/ledger.db"',
      'cosmig dead-letters list --ledger "$0/ledger.db"',
      'cosmig dead-letters discard 1 --ledger "$0/ledger.db"',
    ].join('\n');
    const { code, stdout, stderr } = await runMounted(script, folder);
    expect(code).toBe(7);
    expect(stdout).toContain('2,000 read');
    expect(stdout.match(/collision/g)).toHaveLength(LETTERS + 1);
    expect(stderr).toMatch(/^cosmig: .* is read-only\n/m);
    expect(readdirSync(folder)).toEqual(names);
  });

  test('read-only, with the ledger of a crash -> status works', async () => {
    const path = make();
    using _mover = openLedger(path);
    const folder = temporaryFolder();
    const script = [
      `cp "${path}" "${path}-wal" "${path}-shm" "$0/"`,
      'mount --bind "$0" "$0"; mount -o remount,ro,bind "$0"',
      'cosmig status --ledger "$0/ledger.db"',
    ].join('\n');
    const { code, stdout, stderr } = await runMounted(script, folder);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^last run +copy, started .* was killed or crashed/m);
    expect(readdirSync(folder).toSorted()).toEqual(['ledger.db', 'ledger.db-shm', 'ledger.db-wal']);
  });

  test('full -> a discard is refused with a hint, and works once there is space', async () => {
    const path = make();
    const script = [
      'mount -t tmpfs -o size=1m none "$0"',
      `cp "${path}" "$0/ledger.db"`,
      'cat /dev/zero > "$0/ballast" || true',
      'cosmig dead-letters discard 1 --ledger "$0/ledger.db" || echo "ended $?"',
      'cosmig status --ledger "$0/ledger.db" | grep "dead letters"',
      'rm "$0/ballast"',
      'cosmig dead-letters discard 1 --ledger "$0/ledger.db"',
    ].join('\n');
    const { code, stdout, stderr } = await runMounted(script, temporaryFolder());
    expect(code).toBe(0);
    expect(stdout.split('\n').slice(0, 3)).toEqual([
      'ended 7',
      `dead letters         ${LETTERS} open (${LETTERS} collision)`,
      `1 dead letter discarded, ${LETTERS - 1} still open`,
    ]);
    expect(stderr).toMatch(
      /cannot grow: its disk is full\n {2}why {2}.+\n {2}now {2}free space on that disk/,
    );
  });

  test('full -> a backup names it, and leaves no file behind', async () => {
    const path = make();
    const script = [
      'mount -t tmpfs -o size=64k none "$0"',
      `cosmig status --ledger "${path}" --backup "$0/backup.db" || echo "ended $?"`,
      'ls "$0"',
    ].join('\n');
    const { code, stdout, stderr } = await runMounted(script, temporaryFolder());
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'ended 7\n' });
    expect(stderr).toMatch(/backup\.db cannot grow: its disk is full\n/);
  });
});
