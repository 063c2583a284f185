/**
 * What a migration does on an account that differs from what cosmig relies on: it adapts, it refuses, or a comparison
 * shows what is wrong. It never ends well with a copy that is wrong.
 */
import { expect, test } from 'vitest';
import type { Deviation } from '../../../src/emulator/account/deviations.ts';
import { Move, type Order } from '../../helpers/migration/move.ts';
import { cosmig } from '../../helpers/migration/typed.ts';

interface Row {
  readonly deviation: Deviation;
  readonly outcome: string;
  /** Documents that the source has before the account differs, besides the usual ones. */
  readonly before?: readonly Order[];
  /** The exit codes of copy, tail and verify. */
  readonly codes: readonly number[];
  /** What the last command that failed says. */
  readonly says?: RegExp;
}

const ROWS: readonly Row[] = [
  {
    deviation: 'feed-newest-first',
    outcome: 'adapts: the LSN of a change decides, not its position',
    codes: [0, 0, 0],
  },
  {
    deviation: 'feed-ends-with-200',
    outcome: 'refuses: the copy stops at its time limit, and nothing counts as copied',
    codes: [8, 3, 3],
    says: /the copy is not finished/,
  },
  { deviation: 'feeds-share-positions', outcome: 'does not depend on it', codes: [0, 0, 0] },
  { deviation: 'other-lsns', outcome: 'does not depend on it', codes: [0, 0, 0] },
  {
    deviation: 'no-replaces',
    outcome: 'the comparison shows the change that the feed lacks',
    codes: [0, 0, 4],
    says: /"changed"/,
  },
  {
    deviation: 'deletes-without-key',
    outcome: 'the comparison shows the delete that could not be applied',
    codes: [0, 0, 4],
    says: /extra +"deleted"/,
  },
  {
    deviation: 'missing-keys-as-null',
    outcome: 'the comparison shows the delete that was taken for another document',
    before: [{ id: 'keyless', tenantId: 't1' }],
    codes: [0, 0, 4],
    says: /extra +"keyless"/,
  },
  {
    deviation: 'future-tokens-served',
    outcome: 'adapts: it asks a bounded number of times',
    codes: [0, 0, 0],
  },
  {
    deviation: 'rounded-fractions',
    outcome: 'the comparison shows the number that was changed',
    before: [{ id: 'fraction', customerId: 'c', tenantId: 't', total: 0.123456789 }],
    codes: [0, 0, 4],
    says: /"fraction"/,
  },
  {
    deviation: 'object-keys-refused',
    outcome: 'the copy names the document that the target does not take',
    before: [{ id: 'object', customerId: 'c', tenantId: { is: 'an object' } }],
    codes: [5, 5, 0],
  },
  {
    deviation: 'batches-of-50',
    outcome: 'adapts: a batch that is refused is sent in parts',
    codes: [0, 0, 0],
  },
  { deviation: 'signatures-expire', outcome: 'adapts: the batch is signed again', codes: [0, 0, 0] },
];

test.concurrent.each(ROWS)(
  '$deviation -> $outcome',
  async ({ deviation, before = [], codes, says }) => {
    await using move = await Move.open({
      settings: { avad: true },
      source: { throughput: 10_000 },
      target: { throughput: 10_000 },
    });
    const orders = Array.from({ length: 300 }, (_none, n) => ({
      id: `o${n}`,
      customerId: `c${n % 7}`,
      tenantId: `t${n % 3}`,
    }));
    const changing = ['changed', 'deleted'].map((id) => ({ id, customerId: 'c', tenantId: 't1' }));
    await move.put(...orders, ...changing, ...before);
    await move.admin.account({ deviations: [deviation] });
    const copied = await cosmig(move, 'copy', '--for', '16s');
    await move.source
      .item('changed', 'c')
      .replace({ id: 'changed', customerId: 'c', tenantId: 't1', is: 'changed' });
    await move.source.item('deleted', 'c').delete();
    if (before.some(({ id }) => id === 'keyless')) await move.source.item('keyless', undefined).delete();
    const tailed = await cosmig(move, 'tail', '--until-caught-up', '--for', '16s');
    const verified = await cosmig(move, 'verify', '--deadline', '5s');
    expect([copied.code, tailed.code, verified.code]).toEqual(codes);
    expect(verified.stdout + verified.stderr).toMatch(says ?? '');
  },
  120_000,
);
