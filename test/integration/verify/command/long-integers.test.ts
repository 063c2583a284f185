/**
 * Integers beyond 2^53 are sent as they were read. Whether an account keeps them is not known, so they are counted and
 * shown, and a document whose value changed is named.
 */
import { expect, test } from 'vitest';
import { Move } from '../../../helpers/migration/move.ts';
import { cosmig, typed } from '../../../helpers/migration/typed.ts';
import { verifyMove } from '../../../helpers/migration/verify.ts';
import { RawAccount } from '../../../helpers/emulator/raw.ts';
import { WireContainer } from '../../../helpers/emulator/wire-container.ts';

const textOf = (id: string, member: string): string =>
  `{"id":"${id}","customerId":"c","tenantId":"P",${member}}`;

test.each(['avad', 'reconcile'])(
  'long integers, deletes by %s -> counted by copy, tail, status and verify',
  async (mode) => {
    const flags = { deletes: [mode] };
    await using move = await Move.open({ flags, settings: { avad: mode === 'avad' } });
    const source = new WireContainer(new RawAccount(move.emulator), 'shop', 'orders');
    const write = async (...members: readonly string[]): Promise<void> => {
      for (const [n, member] of members.entries())
        expect((await source.upsert(textOf(`${n}`, member), ['c'])).status).toBeLessThan(300);
    };
    await write(
      '"n":9007199254740993',
      '"n":9007199254740992',
      '"n":[{"deep":-9223372036854775808}]',
      '"n":1.5',
    );
    const copied = await move.run('copy');
    expect(copied.documents).toMatchObject({ written: 4, longIntegers: 2 });
    await write('"n":9007199254740994');
    const { documents } = await move.run('catch-up');
    // With AVAD, the versions of the copy may be shown again.
    expect(documents.longIntegers).toBeGreaterThanOrEqual(1);

    const status = await typed(move, 'status');
    expect(status.stdout).toMatch(/^long integers +in \d versions that were read: integers beyond 2\^53,/m);
    const json = JSON.parse((await typed(move, 'status', '--json')).stdout) as { documents: object };
    expect(json.documents).toMatchObject({ longIntegers: 2 + (documents.longIntegers ?? 0) });
    const by = ['--deletes', mode, '--deadline', '60s'];
    const verified = await cosmig(move, 'verify', ...by);
    expect(verified.stdout).toContain('long integers        2 documents in the source, 2 in the target: ');
    expect(JSON.parse((await cosmig(move, 'verify', '--json', ...by)).stdout)).toMatchObject({
      equal: true,
      longIntegers: { source: 2, target: 2 },
    });
  },
);

test('long integers: the account rounds one -> the document is named, and the numbers of both sides differ', async () => {
  await using move = await Move.open();
  const source = new WireContainer(new RawAccount(move.emulator), 'shop', 'orders');
  await source.create(textOf('kept', '"n":9223372036854775807,"m":1.10'), ['c']);
  await source.create(textOf('rounded', '"n":123456789012345678901234567890'), ['c']);
  await move.admin.account({ numbers: 'service' });
  await move.run('copy');
  expect(await verifyMove(move)).toMatchObject({
    equal: false,
    differences: { different: 1 },
    samples: [{ kind: 'different', id: 'rounded' }],
    longIntegers: { source: 2, target: 1 },
  });
});

test('no long integers -> nothing is shown', async () => {
  await using move = await Move.open();
  await move.put({ id: '1', customerId: 'c', tenantId: 'P', n: Number.MAX_SAFE_INTEGER });
  expect((await move.run('copy')).documents).not.toHaveProperty('longIntegers');
  const status = await typed(move, 'status');
  expect(status.stdout).not.toContain('long integers');
  expect(await verifyMove(move)).not.toHaveProperty('longIntegers');
});
