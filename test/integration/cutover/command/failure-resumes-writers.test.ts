/** Whatever fails while the writers are stopped, they are let resume. */
import { expect, test } from 'vitest';
import { runCutover } from '../../../../src/engine/run.ts';
import { NotReadyError } from '../../../../src/lib/errors.ts';
import { openDatabase, type Database } from '../../../../src/lib/sqlite/sqlite.ts';
import { canMount, runMounted } from '../../../helpers/process/cosmig-process.ts';
import { CUTOVER } from '../../../helpers/migration/cutover-parts.ts';
import { Move } from '../../../helpers/migration/move.ts';
import { SPEC } from '../../../helpers/migration/typed.ts';
import { temporaryFolder } from '../../../unit/state/making.ts';

test('cutover: target rejects every write -> writers resume', async () => {
  await using move = await Move.open({ settings: { avad: true } });
  await move.put({ id: '1', customerId: 'a', tenantId: 'P' });
  await move.run('copy');
  const reasons: string[] = [];
  const cut = runCutover(move.parts(), {
    ...CUTOVER,
    stopWriters: async () => {
      await move.put({ id: '2', customerId: 'a', tenantId: 'P' });
      await move.admin.faults([{ match: { op: 'batch', coll: 'by-tenant' }, effect: { status: 404 } }]);
    },
    onAbort: async (why) => void reasons.push(why),
  });
  await expect(cut).rejects.toMatchObject({ exitCode: 6 });
  expect(reasons).toEqual(['the service answered 404']);
  expect(move.ledger(({ migration }) => migration.read().phase)).toBe('tailing');
});

test('cutover: ledger locked by another program -> writers resume', async () => {
  await using move = await Move.open({ settings: { avad: true } });
  await move.put({ id: '1', customerId: 'a', tenantId: 'P' });
  await move.run('copy');
  let locked: Database | undefined;
  const reasons: string[] = [];
  const cut = runCutover(move.parts(), {
    ...CUTOVER,
    stopWriters: async () => {
      locked = openDatabase({ path: move.ledgerPath });
      locked.exec('BEGIN IMMEDIATE');
      throw new NotReadyError('the hook failed', { why: 'it did', hint: 'repair it' });
    },
    onAbort: async (why) => {
      reasons.push(why);
      locked?.close();
    },
  });
  await expect(cut).rejects.toThrow('the hook failed');
  expect(reasons).toEqual(['the hook failed']);
});

// The mount needs a private namespace, which some machines forbid.
test.skipIf(!canMount())('cutover: disk full -> writers resume', async () => {
  await using move = await Move.open();
  await move.put({ id: '1', customerId: 'a', tenantId: 'P' });
  const spec = `${SPEC.join(' ')} --ledger "$0/ledger.db"`;
  const script = [
    'mount -t tmpfs -o size=16m none "$0"',
    'export DISK="$0"',
    `cosmig copy --yes ${spec} >/dev/null`,
    `cosmig verify --deadline 60s ${spec} >/dev/null`,
    `cosmig cutover --quiet-for 1s --watch-writes 1s ${spec} \\`,
    `  --on-fence 'dd if=/dev/zero of="$DISK/fill" bs=4k; true' --on-abort 'echo resumed' >/dev/null || echo "ended $?"`,
    'rm "$0/fill"',
    `cosmig cutover --quiet-for 1s --watch-writes 1s ${spec} --writers-stopped >/dev/null`,
  ].join('\n');
  const { code, stdout, stderr } = await runMounted(script, temporaryFolder(), {
    COSMIG_SOURCE_CONNECTION_STRING: move.connectionString,
  });
  expect([code, stdout, stderr]).toEqual([0, 'ended 7\n', expect.stringMatching(/^resumed$/m)]);
  expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
});
