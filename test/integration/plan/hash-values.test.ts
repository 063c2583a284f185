/** `cosmig plan --hash-values` on documents that collide: their values and ids may be personal data. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { Move, type Order } from '../../helpers/migration/move.ts';
import { typed } from '../../helpers/migration/typed.ts';
import { putAll } from '../../helpers/migration/verify.ts';

/** Many customers have a document `profile`, and any other id is in two customers of the same tenant. */
const orders: readonly Order[] = Array.from({ length: 300 }, (_none, n) => ({
  id: n % 10 === 0 ? 'profile' : `order-${n % 150}`,
  customerId: `customer-${n}`,
  tenantId: `tenant-${n % 5}`,
  n,
}));
const VALUES = /profile|(?:order|customer|tenant)-\d/;

interface Planned {
  readonly candidates: readonly {
    readonly collisions: {
      readonly documents: number;
      readonly examples: readonly { readonly id: string; readonly key: string }[];
    };
  }[];
}

test.each([[[]], [['--exact']]])(
  'plan --hash-values %j: documents collide -> no value or id of a document is in what is shown or kept',
  async (options) => {
    await using move = await Move.open({ source: { throughput: 60_000 } });
    await putAll(move, [...orders]);
    const folder = dirname(move.ledgerPath);
    const page = join(folder, 'hashed.html');
    const asked = ['--candidate', '/n', '--candidate', '/tenantId', '--hash-values', '--observe', '1s'];
    const plan = async (...argv: readonly string[]): ReturnType<typeof typed> =>
      typed(move, 'plan', '--source', 'shop/orders', ...asked, ...options, ...argv);
    const json = await plan('--json');
    const shown = await plan('--report', page);
    expect([json.code, shown.code]).toEqual([0, 0]);
    const { collisions } = (JSON.parse(json.stdout) as Planned).candidates[2] ?? {};
    const slots = orders.map(({ id, tenantId }) => `${id} ${String(tenantId)}`);
    expect(collisions?.documents).toBe(slots.length - new Set(slots).size);
    expect(collisions?.examples).toHaveLength(5);
    for (const { id, key } of collisions?.examples ?? [])
      expect([id, key]).toEqual([
        expect.stringMatching(/^#[0-9a-f]{12}$/),
        expect.stringMatching(/^#[0-9a-f]{12}$/),
      ]);
    expect(shown.stdout).toMatch(/#[0-9a-f]{12}/);
    const html = readFileSync(page, 'utf8');
    expect(html).toContain(collisions?.examples[0]?.id);
    const kept = readdirSync(folder).filter((name) => name.includes('-plan'));
    expect(kept.length).toBeGreaterThan(0);
    const texts = [json.stdout, json.stderr, shown.stdout, shown.stderr, html];
    for (const text of [...texts, ...kept.map((name) => readFileSync(join(folder, name), 'latin1'))])
      expect(text).not.toMatch(VALUES);
  },
);
