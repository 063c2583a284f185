/** The way back as an operator types it: cutover, reverse, verify --reverse, rollback, and over again. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Move } from '../../helpers/migration/move.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { LivePage } from '../../../src/report/watch/live.ts';
import { cosmig, typed } from '../../helpers/migration/typed.ts';

/** The texts of the live page, which `cosmig watch` serves for the first ledger in every turn. */
function pageOf({ ledgerPath }: Move): Readonly<Record<string, string>> {
  const parts = new LivePage(ledgerPath, { clock: systemClock, version: '1' }).parts();
  const textOf = (markup: string): string => markup.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
  const stage = />([^<]*)<\/li>/.exec(parts['now']?.split('aria-current').at(1) ?? '')?.[1] ?? '';
  return { ...Object.fromEntries(Object.entries(parts).map(([id, markup]) => [id, textOf(markup)])), stage };
}

const SWITCH = ['--writers-stopped', '--quiet-for', '1s', '--watch-writes', '1s'];

test('way back: cutover, reverse, rollback, tail, cutover -> each side has what the application wrote', async () => {
  await using move = await Move.open({ settings: { avad: true } });
  const { source, target } = move;
  for (let n = 0; n < 30; n += 1)
    await move.put({ id: `o${n}`, customerId: `c${n % 7}`, tenantId: `t${n % 3}` });
  const copied = await cosmig(move, 'copy');
  expect([copied.code, copied.stderr]).toEqual([0, expect.stringMatching(/^next: cosmig tail /m)]);
  expect((await cosmig(move, 'verify')).code).toBe(0);

  const early = await cosmig(move, 'reverse', '--until-caught-up');
  expect(early.code).toBe(3);
  expect(early.stderr).toContain('the application still uses the source');

  const cut = await cosmig(move, 'cutover', ...SWITCH, '--keep-source-for', '7d', '--json');
  expect([cut.code, cut.stderr]).toEqual([0, expect.stringContaining('(--writers-stopped)')]);
  expect(cut.stderr).not.toContain('stopping the writers');
  const kept = (await typed(move, 'status')).stdout;
  expect(kept).toMatch(/^way back +to the source, until \d{4}-.* \(7 d left\)$/m);
  expect(kept).toMatch(/^next +cosmig reverse keeps the source up to date/m);
  expect(kept.replaceAll(/\s+/g, ' ')).toMatch(
    /proof both sides were equal when the cutover committed, .* ago\): all .* were compared; 30 in the source, 30 in the target/,
  );

  const prepared = pageOf(move);
  expect(prepared['stage']).toBe('Way back');
  expect(prepared['now']).toContain('The target is in use cosmig reverse keeps the source up to date');
  expect(prepared['back']).toContain('cosmig finish --yes ends it sooner');
  expect(prepared['back']).toMatch(
    /Way back to shop\/orders , 7 d left Nothing was replicated in this direction yet/,
  );

  await target.items.create({ id: 'new', customerId: 'c1', tenantId: 't1' });
  await target.item('o3', 't0').delete();
  const begins = 'cosmig reverse keeps the source up to date';
  for (const command of ['copy', 'tail']) {
    const refused = await cosmig(move, command);
    expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining(begins)]);
  }
  const unused = await cosmig(move, 'rollback', ...SWITCH);
  expect([unused.code, unused.stderr]).toEqual([
    3,
    expect.stringMatching(
      /the way back has not been used yet\s+why +cosmig reverse has not run since the cutover\s+now +run cosmig reverse, then cosmig verify --reverse \(/m,
    ),
  ]);
  // Also now that the rollback has made the ledger of the way back.
  const tooEarly = await cosmig(move, 'verify', '--reverse');
  expect([tooEarly.code, tooEarly.stderr]).toEqual([
    3,
    expect.stringMatching(/the way back has not been used yet[^]* now +run cosmig reverse first/),
  ]);
  const reverse = await cosmig(move, 'reverse', '--until-caught-up', '--json');
  expect([reverse.code, reverse.stderr]).toEqual([0, expect.anything()]);
  const ran = JSON.parse(reverse.stdout) as { ru: { source: number; target: number } };
  expect(ran).toMatchObject({ command: 'reverse', complete: true });
  const { source: sourceRu, target: targetRu } = ran.ru;
  expect(JSON.parse((await typed(move, 'status', '--json')).stdout)).toMatchObject({
    ru: { source: Math.floor(sourceRu), target: Math.floor(targetRu) },
  });
  expect(await move.documents(source)).toEqual(await move.documents(target));

  // A setting has the name by which it was given.
  const wrong = await cosmig(move, 'reverse', '--source-ru', 'x');
  expect([wrong.code, wrong.stderr]).toEqual([
    2,
    expect.stringMatching(/^cosmig: --source-ru x is not valid$/m),
  ]);
  const unproven = (await typed(move, 'status')).stdout;
  expect(unproven).toMatch(
    /^return now +would be refused: no clean cosmig verify --reverse is on\s+record$/m,
  );
  expect(unproven).toMatch(/^partition key +\/customerId$/m);
  const wide = unproven.split('\n').filter((line) => line.length > 80 && !line.startsWith('ledger '));
  expect(wide).toEqual([]);
  const inUse = pageOf(move);
  expect([inUse['name'], inUse['stage']]).toEqual([' shop/by-tenant -&gt; shop/orders ', 'Way back']);
  expect(inUse['back']).toContain(
    'A return would be refused now: no clean cosmig verify --reverse is on record.',
  );
  expect(inUse['ranges']).toMatch(/Target shop\/by-tenant .* Source shop\/orders /);
  expect(unproven).toMatch(/\d+ RU\s+of\s+the\s+target\s+and \d+ RU\s+of\s+the\s+source\s+so\s+far$/m);
  // What cosmig itself has written to the source since is not a late write.
  const again = await cosmig(move, 'cutover', ...SWITCH);
  expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('committed already')]);
  await target.items.upsert({ id: 'new', customerId: 'c1', tenantId: 't1', total: 2 });
  const alone = await cosmig(move, 'verify', '--reverse', '--deadline', '1s');
  expect([alone.code, alone.stderr]).toEqual([
    3,
    expect.stringMatching(/no cosmig reverse is running: .* run cosmig verify --reverse --repair$/m),
  ]);
  const reversed = await cosmig(move, 'reverse', '--until-caught-up');
  expect([reversed.code, reversed.stderr]).toEqual([
    0,
    expect.stringContaining('next: cosmig reverse replicates'),
  ]);
  const verify = await cosmig(move, 'verify', '--reverse');
  expect([verify.code, verify.stderr]).toEqual([0, expect.anything()]);
  const proven = (await typed(move, 'status')).stdout;
  expect(proven.replaceAll(/\s+/g, ' ')).toMatch(
    /return now should succeed; it would first catch up with what has changed since \S+ \S+ \([^)]* ago\)[^;]*; it would stop writers for about \d+ s and the time of your scripts, with 0 changes to compare; the last cutover stopped them for [\d.]+ s /,
  );
  expect(proven).toMatch(/^next +cosmig reverse replicates what has changed since; run\s+cosmig rollback/m);
  expect(pageOf(move)['back']).toContain('A return should succeed now');
  const back = await cosmig(move, 'rollback', ...SWITCH);
  expect([back.code, back.stderr]).toEqual([0, expect.stringContaining('committed: the source is in use')]);
  await source.items.create({ id: 'newer', customerId: 'c2', tenantId: 't2' });

  const returned = (await typed(move, 'status')).stdout;
  expect(returned).toMatch(/^rollback +committed /m);
  expect(returned).toMatch(/^proof +both sides were equal when the rollback committed,/m);
  expect(returned).toMatch(/^target kept +until .* \(7 d left\)$/m);
  expect(returned).toMatch(/^next +cosmig tail keeps the target up to date/m);
  expect(pageOf(move)).toMatchObject({ now: expect.stringContaining('The source is in use') });
  const resumes = /switched back to the source by cosmig rollback[^]* run cosmig tail: it resumes/;
  const used = /committed: the source is in use[^]* cosmig tail keeps the target up to date/;
  for (const [command, why] of [
    ['copy', resumes],
    ['reverse', used],
  ] as const) {
    const refused = await cosmig(move, command);
    expect([refused.code, refused.stderr]).toEqual([3, expect.stringMatching(why)]);
  }
  const unproved = await cosmig(move, 'verify');
  const first = /nothing was replicated since the rollback[^]* now +run cosmig tail first/;
  expect([unproved.code, unproved.stderr]).toEqual([3, expect.stringMatching(first)]);
  const tail = await cosmig(move, 'tail', '--until-caught-up');
  expect([tail.code, tail.stderr]).toEqual([0, expect.stringContaining('next: cosmig tail replicates')]);
  expect((await move.documents(target)).length).toBe(31);
  expect((await cosmig(move, 'verify')).code).toBe(0);
  expect((await typed(move, 'status')).stdout.replaceAll(/\s+/g, ' ')).toMatch(
    /cutover now should succeed; .* the rollback stopped them for [\d.]+ s /,
  );
  expect(pageOf(move)['back']).toContain('A cutover should succeed now');
  const doctor = await cosmig(move, 'doctor');
  expect(doctor.stderr).toMatch(/^next: cosmig tail replicates what has changed since; run cosmig cutover/m);
  expect((await cosmig(move, 'cutover', ...SWITCH)).code).toBe(0);
  expect(await move.documents(target)).toEqual(await move.documents(source));
  expect(existsSync(join(move.ledgerPath.replace('.db', '.back-1.db')))).toBe(true);
});
