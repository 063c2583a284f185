import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Move } from '../../../helpers/migration/move.ts';
import { cosmig, start, typed } from '../../../helpers/migration/typed.ts';
import { lastVerdict } from '../../../../src/verify/last-verdict.ts';
import { verifyPath } from '../../../../src/verify/store.ts';

test('cutover command: copy, verify, repair, cutover -> the target is in use', async () => {
  await using move = await Move.open();
  const folder = mkdtempSync(join(tmpdir(), 'cosmig-cutover-'));
  const hook = (name: string): string => join(folder, name);
  try {
    for (let n = 0; n < 30; n += 1)
      await move.put({ id: `o${n}`, customerId: `c${n % 7}`, tenantId: `t${n % 3}` });
    expect((await cosmig(move, 'copy')).code).toBe(0);

    const early = await cosmig(move, 'cutover', '--writers-stopped');
    expect(early.code).toBe(3);
    expect(early.stderr).toContain('no clean verification on record');

    // This delete is not reported: the comparison finds it.
    await move.source.item('o3', 'c3').delete();
    await move.put({ id: 'o4', customerId: 'c4', tenantId: 'moved' });
    expect((await cosmig(move, 'tail', '--until-caught-up')).code).toBe(0);
    const differs = await cosmig(move, 'verify', '--deadline', '5s', '--json');
    expect(differs.code).toBe(4);
    expect(JSON.parse(differs.stdout)).toMatchObject({ equal: false, differences: { extra: 1, missing: 0 } });
    const repaired = await cosmig(move, 'verify', '--repair', '--deadline', '60s');
    expect(repaired.code).toBe(0);

    await move.source.item('o5', 'c5').delete();
    const unstopped = await cosmig(move, 'cutover');
    expect([unstopped.code, unstopped.stderr]).toEqual([
      2,
      expect.stringContaining('cutover needs to know that writers are stopped'),
    ]);
    const hooks = [
      '--on-fence',
      `echo stopping; env > ${hook('fence')}`,
      '--on-commit',
      `touch ${hook('commit')}`,
    ];
    const cut = await cosmig(
      move,
      'cutover',
      ...hooks,
      '--quiet-for',
      '1s',
      '--watch-writes',
      '1s',
      '--json',
    );
    expect(JSON.parse(cut.stdout)).toMatchObject({
      command: 'cutover',
      phase: 'committed',
      complete: true,
      lateWrites: [],
    });
    expect(cut.code).toBe(0);
    expect(readFileSync(hook('fence'), 'utf8')).toContain('COSMIG_TARGET=shop/by-tenant');
    expect(existsSync(hook('commit'))).toBe(true);
    expect(await move.documents(move.target)).toEqual(await move.documents(move.source));

    const status = await typed(move, 'status');
    expect(status.stdout).toMatch(/^phase +committed$/m);
    expect(status.stdout).toMatch(/^next +nothing: the target is in use/m);
    // From now on nothing replicates from the source.
    expect((await cosmig(move, 'tail', '--until-caught-up')).code).toBe(3);
    const retried = await cosmig(move, 'dead-letters', 'retry', '--all');
    expect([retried.code, retried.stderr]).toEqual([
      3,
      expect.stringContaining('committed: the target is in use'),
    ]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

async function proven(): Promise<Move> {
  const move = await Move.open();
  await move.put({ id: '1', customerId: 'a', tenantId: 'P' });
  expect((await cosmig(move, 'copy')).code).toBe(0);
  expect((await cosmig(move, 'verify', '--deadline', '60s')).code).toBe(0);
  return move;
}

test('cutover command: --on-fence fails -> backs out, the source stays in use', async () => {
  await using move = await proven();
  const { code, stderr } = await cosmig(
    move,
    'cutover',
    '--on-fence',
    'echo cannot; exit 7',
    '--on-abort',
    'echo back',
  );
  expect(code).toBe(3);
  expect(stderr).toMatch(
    /cannot\n(?:.*\n)*.*backed out: the command of --on-fence failed; the source stays in use\nback\n/,
  );
  expect(stderr).toContain('why  it ended with exit code 7');
  expect((await typed(move, 'status')).stdout).toMatch(/^phase +tailing, stopped$/m);
});

test('cutover command: --on-commit fails -> says that the target is in use, and what to do, also when the next one cannot begin', async () => {
  await using move = await proven();
  const times = ['--quiet-for', '1s', '--watch-writes', '1s'];
  const { code, stderr } = await cosmig(
    move,
    'cutover',
    '--writers-stopped',
    '--on-commit',
    'exit 4',
    ...times,
  );
  expect(code).toBe(9);
  expect(stderr).toMatch(/^cosmig: the target is in use, but the command of --on-commit failed$/m);
  expect(stderr).toMatch(
    /^ {2}now {2}run the command of --on-commit by itself to see why; it is run without COSMIG_\*_KEY and COSMIG_\*_CONNECTION_STRING, so [^;]*; then run the same cosmig cutover again, which resumes after the commit/m,
  );
  const again = ['cutover', '--writers-stopped', '--on-commit', 'true', ...times];
  await move.admin.faults([{ match: { op: 'container' }, effect: { status: 403 } }]);
  const refused = await cosmig(move, ...again);
  expect([refused.code, refused.stderr]).toEqual([
    9,
    expect.stringMatching(/^cosmig: the target is in use, but /m),
  ]);
  await move.admin.clearFaults();
  expect((await cosmig(move, ...again)).code).toBe(0);
});

test('cutover command: deadline during --on-fence -> --on-abort starts after it has ended', async () => {
  await using move = await proven();
  const { code, stderr } = await cosmig(
    move,
    'cutover',
    '--deadline',
    '2s',
    '--quiet-for',
    '1s',
    '--on-fence',
    "trap '' TERM; sleep 3; echo off",
    '--on-abort',
    'echo on; exit 9',
  );
  expect([code, stderr]).toEqual([3, expect.stringMatching(/^off\n(?:.*\n)*backed out: .*\non\n/m)]);
  expect(stderr).toContain(
    'the command of --on-abort failed as well (it ended with exit code 9): let the application write to the source yourself\n',
  );
  const why = '--deadline is 2.0 s, and the command of --on-fence had not ended';
  expect(stderr).toContain(why);
  expect(stderr).toContain('find out why it takes so long, or set a longer --deadline');
  const { stdout } = await typed(move, 'status');
  expect(stdout.replaceAll(/\n {21}/g, ' ')).toContain(`the cutover did not finish in time: ${why}`);
});

test('cutover command: --on-abort fails with --quiet -> still reported', async () => {
  await using move = await proven();
  const hooks = ['--on-fence', 'exit 7', '--on-abort', 'echo on; exit 9'];
  for (const look of [['--quiet'], ['--quiet', '--json']]) {
    const { code, stderr } = await cosmig(move, 'cutover', ...hooks, ...look);
    expect([code, stderr]).toEqual([
      3,
      expect.stringContaining('let the application write to the source yourself'),
    ]);
  }
});

test('cutover command: backs out without --on-abort -> says that writers are still stopped', async () => {
  await using move = await proven();
  const { code, stderr } = await cosmig(move, 'cutover', '--on-fence', 'echo off; exit 7');
  expect([code, stderr]).toEqual([
    3,
    expect.stringContaining('let the application write to the source again yourself'),
  ]);
  const { stdout } = await typed(move, 'status');
  expect(stdout.replaceAll(/\n {21}/g, ' ')).toMatch(
    /^cutover .*; writers stopped .*, and writers have NOT been re-enabled by cosmig$/m,
  );
  expect(stdout).toMatch(/^next +make sure that writers can write to the source again/m);
});

test('cutover command: verify found differences -> earlier clean verifies no longer count', async () => {
  await using move = await proven();
  await move.put({ id: '2', customerId: 'a', tenantId: 'Q' });
  expect((await cosmig(move, 'tail', '--until-caught-up')).code).toBe(0);
  expect((await cosmig(move, 'verify')).code).toBe(0);
  // Neither delete is reported, and the counts of both sides stay equal.
  await move.source.item('1', 'a').delete();
  await move.target.item('2', 'Q').delete();
  expect((await cosmig(move, 'verify')).code).toBe(4);
  const cutover = ['cutover', '--writers-stopped', '--quiet-for', '1s', '--watch-writes', '1s'];
  const refused = await cosmig(move, ...cutover);
  expect(refused.code).toBe(3);
  expect(refused.stderr).toMatch(
    /no clean verification on record\n {2}why {2}the comparison of \S+ \S+Z found 2 differences \(1 missing, 1 extra\), which makes the proof of \S+ \S+Z void\n {2}now {2}stop cosmig tail if it runs; cosmig verify --repair /,
  );
  expect((await cosmig(move, 'verify', '--repair')).code).toBe(0);
  expect(lastVerdict(verifyPath(move.ledgerPath))).toMatchObject({ equal: true, voidedMs: null });
  expect((await cosmig(move, ...cutover)).code).toBe(0);
  expect((await move.documents(move.target)).map(({ id }) => id)).toEqual(['2']);
  // The application writes to the target now: a repair would be refused, and no tail runs.
  await move.target.items.upsert({ id: 'new', customerId: 'a', tenantId: 'P' });
  const differs = await cosmig(move, 'verify');
  expect(differs.code).toBe(4);
  expect(differs.stderr).toContain('since the cutover the application has written them to the target');
  expect(differs.stderr).not.toContain('--repair');
  // A write to the source looks like one that is being replicated, which no command does any longer.
  await move.put({ id: 'late', customerId: 'a', tenantId: 'Q' });
  const late = await cosmig(move, 'verify', '--deadline', '1s');
  expect([late.code, late.stderr]).toEqual([
    3,
    expect.stringContaining('the target is in use, so nothing is replicated to it any longer'),
  ]);
  expect(late.stderr).not.toContain('--repair');
});

test('cutover command: crashed, a tail ran, next one refused -> --on-abort runs once', async () => {
  await using move = await Move.open();
  await move.put({ id: '1', customerId: 'a', tenantId: 'P' });
  expect((await cosmig(move, 'copy')).code).toBe(0);
  expect((await cosmig(move, 'verify', '--deadline', '60s')).code).toBe(0);
  const hooks = ['--on-fence', 'kill -9 $PPID', '--on-abort', 'echo resumed'];
  expect((await start(move, 'cutover', ...hooks).ended).code).toBe(-1);
  // A scheduled tail; the document that it replicates keeps the gate closed.
  await move.put({ id: '1', customerId: 'b', tenantId: 'P' });
  const tail = await cosmig(move, 'tail', '--until-caught-up');
  expect(tail.stderr).toContain('the application may still be stopped');
  const refused = await cosmig(move, 'cutover', ...hooks);
  expect([refused.code, refused.stderr]).toEqual([3, expect.stringMatching(/^resumed$/m)]);
  // Writers have resumed.
  const again = await cosmig(move, 'cutover', ...hooks);
  expect([again.code, again.stderr]).toEqual([3, expect.not.stringContaining('resumed')]);
});

test('cutover command: repeated SIGHUP -> backs out and lets writers resume', async () => {
  await using move = await proven();
  // Both the shell and the system send SIGHUP.
  const away = 'echo off; for n in 1 2 3; do kill -HUP $PPID; done; sleep 60';
  const hooks = ['--on-fence', away, '--on-abort', 'sleep 1; echo on'];
  await using cutover = start(move, 'cutover', ...hooks, '--json');
  const { code, stdout, stderr } = await cutover.ended;
  expect([code, stderr]).toEqual([129, expect.stringContaining('"message":"on"')]);
  expect(JSON.parse(stdout)).toMatchObject({
    phase: 'tailing',
    complete: false,
    error: { code: 'canceled', message: 'stopped by SIGHUP' },
  });
});

test('cutover command: --quiet-for leaves no time before --deadline -> refused before writers are stopped', async () => {
  await using move = await Move.open();
  const refused = await cosmig(move, 'cutover', '--on-fence', 'echo off', '--quiet-for', '2m');
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringContaining('--quiet-for is not shorter than --deadline'),
  ]);
});
