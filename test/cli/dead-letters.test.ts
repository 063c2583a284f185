/** What an operator sees of dead letters and does about them; the streams whole. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { deadLettersDiscard } from '../../src/commands/dead-letters/discard.ts';
import { Ledger } from '../../src/state/ledger.ts';
import { REASONS, type LetterChange } from '../../src/state/dead-letters.ts';
import { runCosmig, type Ran } from '../helpers/run-cosmig.ts';
import { hashOf, NOW_MS, openLedger, temporaryFolder } from '../unit/state/making.ts';
import { VirtualClock } from '../helpers/clock.ts';

type Opened = Extract<LetterChange, { change: 'open' }>['letter'];

const HOUR_MS = 3_600_000;

test('dead-letters discard --reason -> takes every reason of the ledger', () => {
  expect(deadLettersDiscard.options.reason.choices).toEqual(REASONS);
});

function letter(name: string, more: Partial<Opened> = {}): LetterChange {
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
      ...more,
    },
  };
}

function write(ledger: Ledger, ...letters: readonly LetterChange[]): void {
  ledger.units.commit([{ unit: ledger.units.nextUnit(), move: null, letters }]);
}

const NONE = { slot: null, targetKey: null, waits: { for: 'nothing' } } as const;

/** Five letters: open, open, closed, discarded, and an odd one. */
function fill(ledger: Ledger): void {
  write(
    ledger,
    letter('a'),
    letter('b', {
      reason: 'too-large',
      code: '413',
      why: 'it has 2,100,000 bytes',
      waits: { for: 'nothing' },
    }),
    letter('c'),
    letter('d', { reason: 'bad-id' }),
    letter('e', {
      ...NONE,
      reason: 'missing-key',
      code: 'missing-key',
      why: 'it has no /tenantId',
      id: '"\u202eevil"',
      sourceKey: '[{},7]',
    }),
  );
  write(ledger, { change: 'close', identity: hashOf('c'), atMs: NOW_MS + HOUR_MS }, letter('a'));
  ledger.letters.discard(4, NOW_MS + HOUR_MS);
}

function made(): string {
  const path = join(temporaryFolder(), 'ledger.db');
  const ledger = openLedger(path);
  fill(ledger);
  ledger.close();
  return path;
}

function ask(path: string, line: string): Promise<Ran> {
  return runCosmig(['dead-letters', ...line.split(' '), '--ledger', path], {
    clock: new VirtualClock(NOW_MS + 2 * HOUR_MS),
  });
}

function objects(text: string): unknown[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as unknown);
}

function lettersIn(path: string): readonly string[] {
  using ledger = Ledger.openReadonly(path);
  return ledger.letters.list({ state: 'any', after: 0, limit: 100 }).map(({ state }) => state);
}

describe('dead-letters list', () => {
  test('open letters -> two lines each, control characters escaped, and what comes next', async () => {
    const path = made();
    await expect(ask(path, 'list')).resolves.toEqual({
      code: 0,
      stdout: [
        '     1  collision        "a"  ["A"] -> ["P"]',
        '        another document holds its place',
        '     2  too-large        "b"  ["A"] -> ["P"]',
        '        it has 2,100,000 bytes',
        '     5  missing-key      "\\u202eevil"  [{},7] -> (no key)',
        '        it has no /tenantId',
        '',
      ].join('\n'),
      stderr: `next: cosmig dead-letters show --ledger ${path} NUMBER says what to do about one; retry NUMBER tries it again, discard NUMBER leaves its document behind\n`,
    });
  });

  test('--state or --all -> other letters with their state', async () => {
    const path = made();
    const { stdout } = await ask(path, 'list --all');
    const heads = stdout.split('\n').filter((line) => !line.startsWith(' '.repeat(8)));
    expect(heads.map((line) => line.slice(0, 36))).toEqual([
      '     1  open       collision        ',
      '     2  open       too-large        ',
      '     3  closed     collision        ',
      '     4  discarded  bad-id           ',
      '     5  open       missing-key      ',
      '',
    ]);
    expect((await ask(path, 'list --state any')).stdout).toBe(stdout);
    expect((await ask(path, 'list --state discarded')).stdout).toMatch(
      /^ {5}4 {2}bad-id .*\n {8}another .*\n$/,
    );
    expect((await ask(path, 'list --state discarded')).stderr).toBe('');
  });

  test('--json -> one object per line', async () => {
    const path = made();
    const { code, stdout, stderr } = await ask(path, 'list --json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const common = { state: 'open', at: '2026-01-01T00:00:00.000Z', sourceKey: ['A'], targetKey: ['P'] };
    expect(objects(stdout)).toEqual([
      {
        ...common,
        number: 1,
        id: 'a',
        reason: 'collision',
        code: '409',
        why: 'another document holds its place',
        attempts: 2,
      },
      {
        ...common,
        number: 2,
        id: 'b',
        reason: 'too-large',
        code: '413',
        why: 'it has 2,100,000 bytes',
        attempts: 1,
      },
      {
        ...common,
        number: 5,
        id: '\u202eevil',
        sourceKey: [{}, 7],
        targetKey: null,
        reason: 'missing-key',
        code: 'missing-key',
        why: 'it has no /tenantId',
        attempts: 1,
      },
    ]);
  });

  test('thousands of letters -> all of them, in order', async () => {
    const path = join(temporaryFolder(), 'ledger.db');
    const ledger = openLedger(path);
    write(ledger, ...Array.from({ length: 1501 }, (_, index) => letter(`d${index}`)));
    ledger.close();
    const numbers = objects((await ask(path, 'list --json')).stdout).map((row) =>
      Reflect.get(Object(row), 'number'),
    );
    expect(numbers).toEqual(Array.from({ length: 1501 }, (_, index) => index + 1));
  });

  test('no letters -> a message for people, nothing for scripts', async () => {
    const path = join(temporaryFolder(), 'ledger.db');
    openLedger(path).close();
    await expect(ask(path, 'list')).resolves.toEqual({
      code: 0,
      stdout: '',
      stderr: 'no open dead letters\n',
    });
    expect((await ask(path, 'list --all')).stderr).toBe('there are no dead letters\n');
    expect((await ask(path, 'list --json')).stdout).toBe('');
  });

  test('a run is active -> list and show work and change no byte of the ledger', async () => {
    const path = join(temporaryFolder(), 'ledger.db');
    using ledger = openLedger(path);
    fill(ledger);
    const bytes = (): string[] => [path, `${path}-wal`].map((file) => readFileSync(file, 'latin1'));
    const before = bytes();
    expect((await ask(path, 'list')).code).toBe(0);
    expect((await ask(path, 'show 1')).code).toBe(0);
    expect(bytes()).toEqual(before);
  });
});

describe('dead-letters show', () => {
  test('an open letter -> all its facts and what to do', async () => {
    await expect(ask(made(), 'show 1')).resolves.toEqual({
      code: 0,
      stdout: [
        'dead letter          1, open',
        'reason               collision (409)',
        'why                  another document holds its place',
        'id                   "a"',
        'source key           ["A"]',
        'target key           ["P"]',
        'waits for            the document that has its key and id in the target; it is',
        '                     retried when that one is moved or deleted',
        'last tried           2026-01-01 00:00:00Z, 2 times',
        'next                 change the id or the key of one of the two documents in the',
        '                     source, delete one, or discard the letter',
        '',
      ].join('\n'),
      stderr: '',
    });
  });

  test('a closed letter -> when it was closed', async () => {
    const { stdout } = await ask(made(), 'show 3');
    expect(stdout).toMatch(/^dead letter +3, closed$/m);
    expect(stdout).toMatch(/^tried +once\nclosed +2026-01-01 01:00:00Z$/m);
    expect(stdout).toMatch(/^next +nothing$/m);
  });

  test('a discarded letter -> what it waits for is not shown, but what it keeps from being done', async () => {
    const { stdout } = await ask(made(), 'show 4');
    expect(stdout).not.toContain('waits for');
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
      'next nothing, unless you want a way back: a cutover with --keep-source-for refuses while this document is in the source',
    );
    expect((await ask(made(), 'discard 4')).stderr).toMatch(
      /\n {2}now {2}change its document in the source, and cosmig tail /,
    );
  });

  test('a code equal to the reason -> printed once', async () => {
    expect((await ask(made(), 'show 5')).stdout).toMatch(/^reason +missing-key$/m);
  });

  test('--json -> one object, without the document', async () => {
    const { stdout } = await ask(made(), 'show 5 --json');
    expect(JSON.parse(stdout)).toEqual({
      command: 'dead-letters show',
      migration: 'shop/orders -> shop/orders-by-tenant',
      number: 5,
      state: 'open',
      id: '\u202eevil',
      sourceKey: [{}, 7],
      targetKey: null,
      reason: 'missing-key',
      code: 'missing-key',
      why: 'it has no /tenantId',
      at: '2026-01-01T00:00:00.000Z',
      attempts: 1,
      waitsFor: 'nothing',
      next: 'add the value to the document in the source, or discard the letter',
    });
  });

  test.each(REASONS)('reason %s -> a hint what to do', async (reason) => {
    const path = join(temporaryFolder(), 'ledger.db');
    const ledger = openLedger(path);
    write(ledger, letter('a', { reason }));
    ledger.close();
    expect((await ask(path, 'show 1')).stdout).toMatch(/^next +\S.{20,}$/m);
  });

  test.each([
    ['show', 'no dead letter was named', 'see cosmig dead-letters list'],
    ['show 0', '0 is not a dead-letter number', 'see cosmig dead-letters list'],
    ['show x', 'x is not a dead-letter number', 'see cosmig dead-letters list'],
    ['show 77', 'there is no dead letter 77', 'see cosmig dead-letters list --all'],
    ['show 1 2', 'unexpected argument: 2', 'see cosmig dead-letters show --help'],
  ])('%s -> an error of three lines', async (line, what, now) => {
    const path = made();
    const { code, stderr } = await ask(path, line);
    expect(code).toBe(2);
    // The command as it works for who has named the ledger.
    const advice = now.replace('dead-letters list', `dead-letters list --ledger ${path}`);
    expect(stderr).toMatch(new RegExp(`^cosmig: ${what}\n  why  .+\n  now  ${advice}\n$`));
  });

  test('--document with another account -> refused', async () => {
    const { code, stderr } = await runCosmig(
      [
        'dead-letters',
        'show',
        '1',
        '--document',
        '--ledger',
        made(),
        '--source-endpoint',
        'https://two.example',
      ],
      { env: { COSMIG_SOURCE_KEY: Buffer.alloc(64, 7).toString('base64') } },
    );
    expect(code).toBe(3);
    expect(stderr).toContain(
      'this migration reads from https://one.example/\n  why  another account was given: https://two.example/\n',
    );
  });

  test('--document without an account -> refused; without --document none is needed', async () => {
    const { code, stderr } = await ask(made(), 'show 1 --document');
    expect(code).toBe(2);
    expect(stderr).toContain('no account was given');
  });
});

describe('dead-letters discard', () => {
  test('one letter -> discarded, still listed, recorded in the journal', async () => {
    const path = made();
    await expect(ask(path, 'discard 2')).resolves.toEqual({
      code: 0,
      stdout: '1 dead letter discarded, 2 still open\n',
      stderr: expect.stringMatching(
        /^next: continue with the migration: .* --keep-source-for [^\n]*\n$/,
      ) as unknown,
    });
    expect(lettersIn(path)).toEqual(['open', 'discarded', 'closed', 'discarded', 'open']);
    using ledger = Ledger.openReadonly(path);
    expect(ledger.letters.get(2)?.atMs).toBe(NOW_MS + 2 * HOUR_MS);
    expect(ledger.journal.entries({ after: 0, limit: 9 }).at(-1)).toMatchObject({
      atMs: NOW_MS + 2 * HOUR_MS,
      event: 'dead letters discarded',
      discarded: 1,
      letter: 2,
      reason: null,
    });
    expect(ledger.runs.last()).toBeNull();
  });

  test('--all --reason -> the letters of that reason only', async () => {
    const path = made();
    const { code, stdout } = await ask(path, 'discard --all --reason collision --yes --json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      command: 'dead-letters discard',
      migration: 'shop/orders -> shop/orders-by-tenant',
      discarded: 1,
      deadLetters: { open: 2 },
    });
    expect(lettersIn(path)).toEqual(['discarded', 'open', 'closed', 'discarded', 'open']);
    const again = await ask(path, 'discard --all --reason collision --yes');
    expect(again).toMatchObject({ code: 0, stdout: '0 dead letters discarded, 2 still open\n' });
  });

  test.each([
    ['discard', 2, 'no dead letter was named'],
    ['discard 1 --all --reason collision --yes', 2, 'both 1 and --all were given'],
    ['discard --all --yes', 2, '--all needs --reason'],
    ['discard --all --reason collision', 2, '--all needs --yes'],
    ['discard --all --reason colision --yes', 2, '--reason colision is not valid'],
    ['discard 77', 2, 'there is no dead letter 77'],
    ['discard 3', 3, 'dead letter 3 is not open'],
    ['discard 4', 3, 'dead letter 4 is not open'],
  ])('%s -> refused with exit code %i, nothing changed', async (line, exitCode, what) => {
    const path = made();
    const before = lettersIn(path);
    const { code, stdout, stderr } = await ask(path, line);
    expect({ code, stdout }).toEqual({ code: exitCode, stdout: '' });
    expect(stderr).toMatch(new RegExp(`^cosmig: ${what}\n  why  .+\n  now  .+\n$`));
    expect(lettersIn(path)).toEqual(before);
  });

  test('a run is active -> exit code 3, without waiting', async () => {
    const path = join(temporaryFolder(), 'ledger.db');
    using ledger = openLedger(path);
    fill(ledger);
    const { code, stderr } = await ask(path, 'discard 1');
    expect(code).toBe(3);
    expect(stderr).toContain('another cosmig is working with');
    expect(stderr).toContain(
      '\n  now  stop cosmig tail with Ctrl-C in its terminal, and start it again afterwards; ',
    );
    expect(ledger.letters.get(1)?.state).toBe('open');
  });

  test('no ledger -> none is created', async () => {
    const path = join(temporaryFolder(), 'none.db');
    for (const line of ['list', 'show 1', 'discard 1']) {
      const { code, stderr } = await ask(path, line);
      expect(code).toBe(7);
      expect(stderr).toContain(`there is no ledger at ${path}`);
    }
  });
});

describe('dead-letters retry', () => {
  test.each([
    ['retry', 2, 'no dead letter was named'],
    ['retry 1 --all', 2, 'both 1 and --all were given'],
    ['retry x', 2, 'x is not a dead-letter number'],
    ['retry 77', 2, 'there is no dead letter 77'],
    ['retry 3', 3, 'dead letter 3 is not open'],
    ['retry 4', 3, 'dead letter 4 is not open'],
  ])('%s -> refused with exit code %i before any account is contacted', async (line, exitCode, what) => {
    const path = made();
    const { code, stdout, stderr } = await ask(path, line);
    expect({ code, stdout }).toEqual({ code: exitCode, stdout: '' });
    expect(stderr).toMatch(new RegExp(`^cosmig: ${what}\n  why  .+\n  now  .+\n$`));
  });

  test('settings missing -> all of them are reported', async () => {
    const { code, stderr } = await ask(made(), 'retry --all');
    expect(code).toBe(2);
    expect(stderr).toContain('problems');
  });
});
