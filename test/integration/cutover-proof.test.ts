/** What a cutover's own comparison makes of documents that are spelled in unusual ways. */
import { expect, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { Move } from '../helpers/move.ts';
import { RawAccount } from '../helpers/raw.ts';
import { runCosmig, type Ran } from '../helpers/run-cosmig.ts';
import { WireContainer } from '../helpers/wire-container.ts';

const SPEC = [
  '--source',
  'shop/orders',
  '--target',
  'shop/by-tenant',
  '--partition-key',
  '/tenantId',
  '--yes',
];

test.each([
  ['letters that are escaped', String.raw`"caf\u00e9"`],
  ['a number that is written out', '1.50'],
  ['null', 'null'],
])(
  'a key of %s is one place, however it is spelled',
  async (_what, key) => {
    await using move = await Move.open();
    const account = new RawAccount({ endpoint: move.emulator.endpoint, key: move.emulator.key });
    const wire = new WireContainer(account, 'shop', 'orders');
    const cosmig = async (command: string, ...flags: readonly string[]): Promise<Ran> => {
      const env = { COSMIG_SOURCE_CONNECTION_STRING: move.connectionString, COSMIG_LEDGER: move.ledgerPath };
      return runCosmig([command, ...SPEC, ...flags], { env, clock: systemClock });
    };
    const text = (n: number): string => `{"id":"1","customerId":"a","tenantId":${key},"n":${n}}`;
    await wire.create(text(1), ['a']);
    expect((await cosmig('copy')).code).toBe(0);
    expect((await cosmig('verify', '--deadline', '5s')).code).toBe(0);
    // Only what has changed since is compared one by one.
    await wire.upsert(text(2), ['a']);
    const cut = await cosmig('cutover', '--writers-stopped', '--quiet-for', '1s', '--watch', '1s');
    expect([cut.code, cut.stderr]).toEqual([0, expect.not.stringContaining('differ')]);
    expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
    account.close();
  },
  60_000,
);
