/** What `cosmig doctor` finds: an account with nothing wrong, and one thing wrong at a time. */
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { setClock } from '../../helpers/clock.ts';
import { Move } from '../../helpers/migration/move.ts';
import { envOf, SPEC as PLACES, typed } from '../../helpers/migration/typed.ts';
import { runCosmig, type Ran } from '../../helpers/run-cosmig.ts';

let move: Move;

beforeEach(async () => {
  move = await Move.open({ target: { defaultTtl: 60 }, source: { defaultTtl: 60 } });
  await move.put({ id: 'o1', customerId: 'c', tenantId: 't' }, { id: 'o2', customerId: 'c', tenantId: 't' });
});
afterEach(async () => {
  await move[Symbol.asyncDispose]();
});

interface Shown {
  readonly complete: boolean;
  readonly checks: readonly Readonly<Record<'about' | 'name' | 'state' | 'message', string>>[];
}

const shownBy = ({ stdout }: Ran): Shown => JSON.parse(stdout) as Shown;

/** The checks that are not ok, as `about name: state`. */
function notOk({ checks }: Shown): string[] {
  return checks
    .filter(({ state }) => state !== 'ok')
    .map(({ about, name, state }) => `${about} ${name}: ${state}`);
}

const RECONCILED = 'source deletes: warning';

describe('cosmig doctor', () => {
  test('nothing wrong -> exit code 0, a line for each check, and nothing is written', async () => {
    const documents = async (): Promise<unknown> => [
      await move.source.items
        .readAll()
        .fetchAll()
        .then(({ resources }) => resources),
      await move.target.items
        .readAll()
        .fetchAll()
        .then(({ resources }) => resources),
      existsSync(move.ledgerPath),
    ];
    const before = await documents();
    const ran = await typed(move, 'doctor', ...PLACES, '--deletes', 'reconcile');
    expect([ran.code, ran.stderr]).toEqual([
      0,
      'next: cosmig copy --dry-run estimates RU and time, and writes nothing (with the same flags)\n',
    ]);
    const lines = ran.stdout.split('\n');
    expect(lines.filter((line) => !line.startsWith(' '))).toEqual([
      'this machine',
      'source',
      'target',
      'disk of the ledger',
      '19 checks: 19 ok',
      'Not visible to cosmig: throughput buckets, priority-based execution, merged',
      'partitions, and how long the change feed keeps deletes (docs/migration.md).',
      '',
    ]);
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(await documents()).toEqual(before);
  });

  test("the machine's clock is 61 minutes ahead -> a warning that says so, and every other check is made", async () => {
    const clock = setClock(() => 61 * 60_000);
    const argv = ['doctor', ...PLACES, '--deletes', 'reconcile', '--json'];
    const ran = await runCosmig(argv, { env: envOf(move), clock });
    const shown = shownBy(ran);
    expect([ran.code, notOk(shown)]).toEqual([0, ['source clock: warning', 'target clock: warning']]);
    const words = "this machine's clock is 61 minutes ahead of the service's";
    expect(shown.checks.filter(({ name }) => name === 'clock').map(({ message }) => message)).toEqual([
      words,
      words,
    ]);
  });

  test.each<[condition: string, flags: readonly string[], found: readonly string[]]>([
    ['a feed of all versions is asked for and is off', ['--deletes', 'avad'], ['source deletes: failed']],
    [
      'the source is missing',
      ['--source', 'shop/none'],
      [
        'source container: failed',
        'source throughput: skipped',
        'source permissions: skipped',
        'source deletes: skipped',
        'source key: skipped',
        'target key: skipped',
        'target documents: skipped',
        'target settings: skipped',
      ],
    ],
    [
      'the target is missing',
      ['--target', 'shop/none'],
      [
        RECONCILED,
        'target container: failed',
        'target throughput: skipped',
        'target permissions: skipped',
        'target key: skipped',
        'target documents: skipped',
        'target settings: skipped',
      ],
    ],
    ['the target is missing and will be created', ['--target', 'shop/none', '--create-target'], [RECONCILED]],
    [
      'the target has another key',
      ['--partition-key', '/other'],
      [RECONCILED, 'source key: warning', 'target key: failed', 'target documents: skipped'],
    ],
    [
      'no document has the key',
      ['--target', 'shop/none', '--partition-key', '/tenantID', '--create-target'],
      [RECONCILED, 'source key: warning'],
    ],
  ])('%s -> says which check fails', async (_, flags, found) => {
    const ran = await typed(move, 'doctor', ...withFlags(flags), '--json');
    const shown = shownBy(ran);
    expect(notOk(shown)).toEqual(found);
    const isFine = found.every((one) => !one.endsWith('failed'));
    expect([ran.code, shown.complete]).toEqual([isFine ? 0 : 3, isFine]);
  });

  test('the key that no document has -> the warning of the copy, with its counts; without a mistake, the counts', async () => {
    const keyOf = async (...flags: readonly string[]): Promise<unknown> => {
      const { checks } = shownBy(await typed(move, 'doctor', ...withFlags(flags), '--json'));
      return checks.find(({ about, name }) => about === 'source' && name === 'key');
    };
    expect(await keyOf()).toMatchObject({
      state: 'ok',
      message: '2 of 2 sampled documents have the key /tenantId, with 1 value',
    });
    const [wrong] = [await keyOf('--target', 'shop/none', '--partition-key', '/tenantID', '--create-target')];
    const copied = await typed(
      move,
      'copy',
      '--dry-run',
      ...withFlags(['--target', 'shop/none', '--partition-key', '/tenantID', '--create-target']),
      '--json',
    );
    const { warnings } = JSON.parse(copied.stdout) as { readonly warnings: readonly unknown[] };
    expect(wrong).toMatchObject({
      state: 'warning',
      message: 'none of 2 sampled documents has the key /tenantID',
    });
    expect(warnings).toMatchObject([{ kind: 'no-key', message: (wrong as Shown['checks'][number]).message }]);
  });

  test('a target in use, other settings -> both are reported', async () => {
    await move.target.items.create({ id: 'stranger', tenantId: 'x' });
    await move.target.replace({ id: 'by-tenant', partitionKey: { paths: ['/tenantId'] }, defaultTtl: 5 });
    const shown = shownBy(await typed(move, 'doctor', ...PLACES, '--json'));
    expect(notOk(shown)).toEqual([RECONCILED, 'target documents: failed', 'target settings: warning']);
  });

  test.each(['Eventual', 'ConsistentPrefix'])(
    'default consistency %s -> fails, and says what to set',
    async (consistency) => {
      await move.admin.account({ consistency });
      const shown = shownBy(await typed(move, 'doctor', ...PLACES, '--json'));
      expect(notOk(shown)).toEqual([
        'source permissions: failed',
        RECONCILED,
        'source key: skipped',
        'target permissions: failed',
        'target documents: skipped',
      ]);
      const copied = await typed(move, 'copy', '--yes', ...PLACES);
      expect([copied.code, copied.stderr]).toEqual([
        3,
        expect.stringContaining('--default-consistency-level'),
      ]);
    },
  );

  test.each(['Strong', 'BoundedStaleness'])(
    'default consistency %s -> nothing fails',
    async (consistency) => {
      await move.admin.account({ consistency });
      expect(notOk(shownBy(await typed(move, 'doctor', ...PLACES, '--json')))).toEqual([RECONCILED]);
    },
  );

  test('another migration has reserved the target -> fails', async () => {
    await move.target.items.create({
      id: 'cosmig-reservation',
      tenantId: 'cosmig-reservation',
      ttl: -1,
      cosmig: { ledger: 'other', path: '/there.db', source: 'shop/other', began: '2026-11-19' },
    });
    const ran = await typed(move, 'doctor', ...PLACES);
    expect([ran.code, ran.stdout]).toEqual([
      3,
      expect.stringContaining('belongs to a migration with another'),
    ]);
  });

  test('a migration that has begun -> its copies are accepted', async () => {
    await move.run('copy');
    const shown = shownBy(await typed(move, 'doctor', ...PLACES, '--json'));
    expect(notOk(shown)).toEqual([RECONCILED]);
  });

  test('the copies of a migration whose ledger is gone -> says what the copy says', async () => {
    await move.run('copy');
    const elsewhere = ['--ledger', join(dirname(move.ledgerPath), 'elsewhere.db')];
    const shown = shownBy(await typed(move, 'doctor', ...PLACES, ...elsewhere, '--json'));
    const found = shown.checks.find(({ about, name }) => about === 'target' && name === 'documents');
    const { stderr } = await typed(move, 'copy', ...PLACES, ...elsewhere, '--yes', '--json');
    const { message, why, hint } = JSON.parse(stderr) as Readonly<Record<'message' | 'why' | 'hint', string>>;
    expect(found).toMatchObject({
      state: 'failed',
      message,
      why,
      hint: hint.replace(' (with the same flags)', ''),
    });
    expect([why, hint]).toEqual([
      expect.stringMatching(/^2 of 2 documents checked are copies of source documents/) as unknown,
      expect.stringContaining('run cosmig copy --adopt-target') as unknown,
    ]);
  });

  test('a migration has begun, and its target is gone -> fails, as the copy would', async () => {
    await move.run('copy');
    await move.target.delete();
    const ran = await typed(move, 'doctor', ...PLACES, '--create-target');
    expect([ran.code, ran.stdout.replaceAll(/\s+/g, ' ')]).toEqual([
      3,
      expect.stringMatching(/failed +there is no target container .* was there when the migration began/),
    ]);
    expect(ran.stdout).not.toContain('will create it');
  });

  test('a name that is nearly that of a container -> asks whether that was meant; once begun, says it was there', async () => {
    const hintOf = async (...argv: readonly string[]): Promise<unknown> => {
      const { checks } = shownBy(await typed(move, ...argv, '--json'));
      return checks.find(({ about, name }) => about === 'source' && name === 'container');
    };
    expect(await hintOf('doctor', ...withFlags(['--source', 'shop/order']))).toMatchObject({
      message: 'there is no source container shop/order',
      hint: expect.stringMatching(/^did you mean shop\/orders\? If not, check --source/) as unknown,
    });
    await move.run('copy');
    await move.source.delete();
    const why = expect.stringMatching(/^it was there when the migration began/) as unknown;
    expect(await hintOf('doctor', ...PLACES)).toMatchObject({ why });
    const copied = await typed(move, 'copy', ...PLACES);
    expect([copied.code, copied.stderr.replaceAll(/\s+/g, ' ')]).toEqual([
      3,
      expect.stringMatching(
        /there is no source container shop\/orders why it was there when the migration began/,
      ),
    ]);
  });

  test('a wrong key of the target -> the source is still checked', async () => {
    const key = Buffer.alloc(64).toString('base64');
    const target = `AccountEndpoint=${move.emulator.endpoint};AccountKey=${key}`;
    const env = { ...envOf(move), COSMIG_TARGET_CONNECTION_STRING: target };
    const shown = shownBy(await runCosmig(['doctor', ...PLACES, '--json'], { env, clock: systemClock }));
    expect(notOk(shown).slice(0, 3)).toEqual([
      RECONCILED,
      'target account: failed',
      'target container: skipped',
    ]);
  });

  test('a wrong key of the account of both sides -> it is asked once, and the mistake is reported once', async () => {
    const key = Buffer.alloc(64).toString('base64');
    const env = {
      ...envOf(move),
      COSMIG_SOURCE_CONNECTION_STRING: `AccountEndpoint=${move.emulator.endpoint};AccountKey=${key}`,
    };
    const shown = shownBy(await runCosmig(['doctor', ...PLACES, '--json'], { env, clock: systemClock }));
    const failed = notOk(shown).filter((one) => !one.endsWith('skipped'));
    expect(failed).toEqual(['source account: failed']);
    expect(notOk(shown)).toContain('target account: skipped');
  });

  test.skipIf(process.platform === 'win32')(
    'a ledger that other users may read -> a warning, until they may not',
    async () => {
      writeFileSync(move.ledgerPath, '');
      const found: string[][] = [];
      for (const mode of [0o640, 0o604, 0o600]) {
        chmodSync(move.ledgerPath, mode);
        found.push(
          notOk(shownBy(await typed(move, 'doctor', ...PLACES, '--deletes', 'reconcile', '--json'))),
        );
      }
      expect(found).toEqual([['machine ledger: warning'], ['machine ledger: warning'], []]);
    },
  );

  test('a ledger in a place where no file can be -> fails, and the rest is checked', async () => {
    const folder = join(dirname(move.ledgerPath), 'folder.db');
    mkdirSync(folder);
    const shown = shownBy(await typed(move, 'doctor', ...PLACES, '--ledger', folder, '--json'));
    expect(notOk(shown)).toEqual(['machine ledger: failed', RECONCILED, 'target documents: skipped']);
  });
});

/** The usual flags, in which those given replace others. */
function withFlags(flags: readonly string[]): string[] {
  const given = new Set(flags.filter((flag) => flag.startsWith('--')));
  const usual: string[] = [];
  for (let at = 0; at < PLACES.length; at += 2)
    if (!given.has(PLACES[at] ?? '')) usual.push(...PLACES.slice(at, at + 2));
  return [...usual, ...flags];
}
