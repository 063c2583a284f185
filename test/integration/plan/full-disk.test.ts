/** `cosmig plan --exact` on a disk that is full: it stops with a hint, and resumes once there is space. */
import { describe, expect, test } from 'vitest';
import { Move, type Order } from '../../helpers/migration/move.ts';
import { envOf } from '../../helpers/migration/typed.ts';
import { putAll } from '../../helpers/migration/verify.ts';
import { canMount, runMounted } from '../../helpers/process/cosmig-process.ts';
import { temporaryFolder } from '../../unit/state/making.ts';

const orders: readonly Order[] = Array.from({ length: 1500 }, (_none, n) => ({
  id: `o${n % 150}`,
  customerId: `c${n}`,
  tenantId: n % 3 === 0 ? 'giant' : `t${n % 70}`,
}));
const slots = new Set(orders.map(({ id, tenantId }) => `${id} ${String(tenantId)}`));

// Needs a name space of our own for the mount, which some machines forbid.
describe.skipIf(!canMount())('plan --exact: a full disk', () => {
  test.each([
    ['64k', 'while the plan file is made', 'plan'],
    ['192k', 'while the pass begins', 'plan'],
    // Checkpoints come by time, so a slow machine has more of them, and either file may be the one that cannot grow.
    ['512k', 'while entries are written', 'plan(?:-exact)?'],
    ['576k', 'while a checkpoint is written after the entries', 'plan(?:-exact)?'],
  ])(
    '%s, %s -> exit code 7 with a hint, and as without it once there is space',
    async (size, _when, file) => {
      await using move = await Move.open({ source: { throughput: 60_000 } });
      await putAll(move, [...orders]);
      const plan = 'cosmig plan --source shop/orders --candidate /tenantId --exact --ledger "$0/ledger.db"';
      const script = [
        `mount -t tmpfs -o size=${size} none "$0"`,
        `${plan} >/dev/null || echo "ended $?"`,
        'mount -o remount,size=64m "$0"',
        // Documents collide, which ends with 4.
        `${plan} --json || echo "ended $?"`,
        'ls "$0"/*-exact 2>/dev/null || true',
      ].join('\n');
      const { stdout, stderr } = await runMounted(script, temporaryFolder(), envOf(move));
      const [first, json = '{}', last, ...left] = stdout.trimEnd().split('\n');
      expect([first, last, left]).toEqual(['ended 7', 'ended 4', []]);
      expect(stderr).toMatch(
        new RegExp(
          `ledger\\.db-${file}(?:-mark)? cannot grow: its disk is full\n {2}why {2}.+\n {2}now {2}free space on that disk`,
        ),
      );
      const truth = orders.length - slots.size;
      expect(JSON.parse(json)).toMatchObject({
        documents: orders.length,
        exact: true,
        candidates: [{}, { collisions: { documents: truth, low: truth, high: truth } }],
      });
    },
  );
});
