/** The way back as an operator types it: cutover, reverse, verify --reverse, rollback, and over again. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Move } from '../../helpers/migration/move.ts';
import { cosmig, typed } from '../../helpers/migration/typed.ts';

const SWITCH = ['--writers-stopped', '--quiet-for', '1s', '--watch-writes', '1s'];

test('way back: cutover, reverse, rollback, tail, cutover -> each side has what the application wrote', async () => {
  await using move = await Move.open({ settings: { avad: true } });
  const { source, target } = move;
  for (let n = 0; n < 30; n += 1)
    await move.put({ id: `o${n}`, customerId: `c${n % 7}`, tenantId: `t${n % 3}` });
  expect((await cosmig(move, 'copy')).code).toBe(0);
  expect((await cosmig(move, 'verify')).code).toBe(0);

  const early = await cosmig(move, 'reverse', '--until-caught-up');
  expect(early.code).toBe(3);
  expect(early.stderr).toContain('the application still uses the source');

  const cut = await cosmig(move, 'cutover', ...SWITCH, '--keep-source-for', '7d', '--json');
  expect([cut.code, cut.stderr]).toEqual([0, expect.anything()]);
  const kept = (await typed(move, 'status')).stdout;
  expect(kept).toMatch(/^way back +to the source, until \d{4}-.* \(6 d left\)$/m);
  expect(kept).toMatch(/^next +cosmig reverse keeps the source up to date/m);

  await target.items.create({ id: 'new', customerId: 'c1', tenantId: 't1' });
  await target.item('o3', 't0').delete();
  const reverse = await cosmig(move, 'reverse', '--until-caught-up', '--json');
  expect([reverse.code, reverse.stderr]).toEqual([0, expect.anything()]);
  expect(JSON.parse(reverse.stdout)).toMatchObject({ command: 'reverse', complete: true });
  expect(await move.documents(source)).toEqual(await move.documents(target));

  const unproven = (await typed(move, 'status')).stdout;
  expect(unproven).toMatch(/^return now +would be refused: no clean cosmig verify --reverse is on record$/m);
  const verify = await cosmig(move, 'verify', '--reverse');
  expect([verify.code, verify.stderr]).toEqual([0, expect.anything()]);
  const proven = (await typed(move, 'status')).stdout;
  expect(proven).toMatch(/^return now +should succeed; the last cutover stopped writers for [\d.]+ s$/m);
  expect(proven).toMatch(/^next +cosmig reverse replicates what has changed since; run cosmig\s+rollback/m);
  const back = await cosmig(move, 'rollback', ...SWITCH);
  expect([back.code, back.stderr]).toEqual([0, expect.stringContaining('committed: the source is in use')]);
  await source.items.create({ id: 'newer', customerId: 'c2', tenantId: 't2' });

  const returned = (await typed(move, 'status')).stdout;
  expect(returned).toMatch(/^way back +to the target, until/m);
  expect(returned).toMatch(/^next +cosmig tail keeps the target up to date/m);
  const tail = await cosmig(move, 'tail', '--until-caught-up');
  expect([tail.code, tail.stderr]).toEqual([0, expect.anything()]);
  expect((await move.documents(target)).length).toBe(31);
  expect((await cosmig(move, 'verify')).code).toBe(0);
  expect((await cosmig(move, 'cutover', ...SWITCH)).code).toBe(0);
  expect(await move.documents(target)).toEqual(await move.documents(source));
  expect(existsSync(join(move.ledgerPath.replace('.db', '.back-1.db')))).toBe(true);
}, 90_000);
