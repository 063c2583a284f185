/** Documents that expire: the container that is kept must not lose what is still alive in the other one. */
import { expect, test } from 'vitest';
import type { CrashPoint } from '../../../src/engine/unit/crash-points.ts';
import { cutOverWithProof } from '../../../src/workflows/cutover.ts';
import { Move } from '../../helpers/migration/move.ts';
import { Turns } from '../../helpers/migration/turns.ts';
import { setClock } from '../../helpers/clock.ts';
import { cosmig, envOf, withSpec } from '../../helpers/migration/typed.ts';
import { runCosmig } from '../../helpers/run-cosmig.ts';

const SWITCH = ['--writers-stopped', '--quiet-for', '1s', '--watch-writes', '1s'];

async function ttlOf(move: Move, side: 'source' | 'target'): Promise<number | undefined> {
  const { resource } = await move[side].read();
  return resource?.defaultTtl;
}

test('way back: documents expire -> the time to live of the kept container is paused, and restored', async () => {
  await using move = await Move.open({
    settings: { avad: true },
    source: { defaultTtl: 3600 },
    target: { defaultTtl: 3600 },
  });
  for (let n = 0; n < 10; n += 1) await move.put({ id: `o${n}`, customerId: 'c', tenantId: 't' });
  expect((await cosmig(move, 'copy')).code).toBe(0);
  expect((await cosmig(move, 'verify')).code).toBe(0);
  const cut = await cosmig(move, 'cutover', ...SWITCH, '--keep-source-for', '7d');
  expect([cut.code, cut.stderr]).toEqual([0, expect.stringContaining('that is paused after the commit')]);
  expect(await ttlOf(move, 'source')).toBeUndefined();
  expect(await ttlOf(move, 'target')).toBe(3600);

  expect((await cosmig(move, 'reverse', '--until-caught-up')).code).toBe(0);
  expect((await cosmig(move, 'verify', '--reverse')).code).toBe(0);
  const back = await cosmig(move, 'rollback', ...SWITCH);
  expect([back.code, back.stderr]).toEqual([0, expect.anything()]);
  expect(await ttlOf(move, 'source')).toBe(3600);
  expect(await ttlOf(move, 'target')).toBeUndefined();

  expect((await cosmig(move, 'tail', '--until-caught-up')).code).toBe(0);
  // The time of --keep-source-for is over.
  const clock = setClock(() => 8 * 24 * 3600_000);
  const finish = await runCosmig(withSpec(['finish', '--json']), { env: envOf(move), clock });
  expect(finish.code).toBe(0);
  expect(JSON.parse(finish.stdout)).toMatchObject({
    inUse: 'source',
    kept: 'target',
    restoredTtlSeconds: 3600,
  });
  expect(await ttlOf(move, 'target')).toBe(3600);
  expect((await cosmig(move, 'tail', '--until-caught-up')).code).toBe(3);
  expect((await cosmig(move, 'finish')).code).toBe(0);
});

test('way back: the hook fails after times to live were changed -> the same command completes what is left', async () => {
  await using move = await Move.open({
    settings: { avad: true },
    source: { defaultTtl: 3600 },
    target: { defaultTtl: 7200 },
  });
  await move.put({ id: 'o1', customerId: 'c', tenantId: 't' });
  expect((await cosmig(move, 'copy')).code).toBe(0);
  expect((await cosmig(move, 'verify')).code).toBe(0);
  const cutover = ['cutover', ...SWITCH, '--keep-source-for', '7d'];
  expect((await cosmig(move, ...cutover, '--on-commit', 'exit 1')).code).toBe(9);
  const early = await cosmig(move, 'finish');
  expect([early.code, early.stderr]).toEqual([
    3,
    expect.stringContaining('its remaining steps are not done'),
  ]);
  // Typed as status says it. The hook is not skipped, and nothing asks for writers, which need not be stopped now.
  for (const command of ['cutover', 'tail', 'reverse']) {
    const unnamed = await cosmig(move, command);
    expect([command, unnamed.code, unnamed.stderr.replaceAll(/\s+/g, ' ')]).toEqual([
      command,
      command === 'cutover' ? 9 : 3,
      expect.stringMatching(
        command === 'cutover'
          ? /the target is in use, but the command of --on-commit has not succeeded yet .*run cosmig cutover again with the same --on-commit; if you have switched the application to the target yourself, with --on-commit true/
          : /cosmig cutover has committed, and its remaining steps are not done .*run cosmig cutover again with its --on-commit, then this command/,
      ),
    ]);
  }
  const again = await cosmig(move, 'cutover', '--watch-writes', '1s', '--on-commit', 'true');
  expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('committed already')]);
  // Now the hook is done, and the target is in use.
  const third = await cosmig(move, 'cutover');
  expect([third.code, third.stderr]).toEqual([0, expect.not.stringContaining('let the application write')]);

  expect((await cosmig(move, 'reverse', '--until-caught-up')).code).toBe(0);
  expect((await cosmig(move, 'verify', '--reverse')).code).toBe(0);
  const failed = await cosmig(move, 'rollback', ...SWITCH, '--on-commit', 'exit 1');
  expect([failed.code, failed.stderr]).toEqual([
    9,
    expect.stringContaining('run the command of --on-commit by itself to see why'),
  ]);
  for (const command of ['copy', 'tail', 'cutover', 'verify', 'reverse', 'finish']) {
    const refused = await cosmig(move, command);
    expect([command, refused.code, refused.stderr.replaceAll(/\s+/g, ' ')]).toEqual([
      command,
      3,
      expect.stringMatching(
        /cosmig rollback has committed, and its remaining steps are not done why its command of --on-commit has not succeeded yet now run cosmig rollback again with its --on-commit, then this command/,
      ),
    ]);
  }
  const unnamed = await cosmig(move, 'rollback');
  expect([unnamed.code, unnamed.stderr]).toEqual([
    9,
    expect.stringMatching(
      /the source is in use, but the command of --on-commit[^]*run cosmig\s+rollback again/,
    ),
  ]);
  const back = await cosmig(move, 'rollback', '--on-commit', 'true', '--watch-writes', '1s');
  expect([back.code, back.stderr]).toEqual([0, expect.anything()]);
  expect([await ttlOf(move, 'source'), await ttlOf(move, 'target')]).toEqual([3600, undefined]);
  const kept = await cosmig(move, 'finish');
  expect([kept.code, kept.stdout, kept.stderr.replaceAll(/\s+/g, ' ')]).toEqual([
    3,
    '',
    expect.stringMatching(
      /the target is kept for cosmig cutover until [-\d]+ [\d:]+Z, which is in \d .*cosmig tail and cosmig cutover are refused from then on.*the time to live of the target \(7,?200 s.*add --yes/,
    ),
  ]);
  expect(await ttlOf(move, 'target')).toBeUndefined();
  const finished = await cosmig(move, 'finish', '--yes');
  expect([finished.code, finished.stderr]).toEqual([
    0,
    expect.stringContaining('the way back has ended for good:'),
  ]);
  expect(await ttlOf(move, 'target')).toBe(7200);
  const ended = await cosmig(move, 'tail');
  expect([ended.code, ended.stderr]).toEqual([3, expect.stringContaining('--adopt-target')]);
});

test('way back: a document expires after the commit and before the pause -> named, and no rollback before its repair', async () => {
  await using move = await Move.open({
    settings: { avad: true },
    source: { defaultTtl: 3600 },
    flags: { keepSourceFor: ['7d'] },
  });
  const lasting = { id: 'lasting', customerId: 'c', tenantId: 't' };
  const short = { id: 'short', customerId: 'c', tenantId: 't', ttl: 60 };
  await move.put(lasting, short);
  expect((await cosmig(move, 'copy')).code).toBe(0);
  expect((await cosmig(move, 'verify')).code).toBe(0);
  const turns = new Turns(move);
  const done = async (): Promise<void> => {};
  const crash = new Error('a crash');
  const onPoint = (point: CrashPoint): void => {
    if (point === 'cut-over') throw crash;
  };
  const cutover = cutOverWithProof(
    turns.parts(0, { onPoint }),
    {
      stopWriters: done,
      onCommit: done,
      onAbort: done,
      deadlineMs: 60_000,
      quietMs: 50,
      watchMs: 0,
      likeSource: [],
    },
    { onStep: () => {}, onProof: () => {} },
  );
  await expect(cutover).rejects.toThrow(crash);
  await move.admin.clock(100_000);
  await move.admin.purgeExpired('shop/orders');
  expect((await cosmig(move, 'cutover', ...SWITCH, '--on-commit', 'true')).code).toBe(0);
  expect((await move.source.read()).resource?.defaultTtl).toBeUndefined();
  expect(await move.documents(move.target)).toEqual([lasting, short]);
  expect(await move.documents(move.source)).toEqual([lasting]);

  expect((await cosmig(move, 'reverse', '--until-caught-up')).code).toBe(0);
  const verify = await cosmig(move, 'verify', '--reverse');
  expect([verify.code, verify.stdout]).toEqual([4, expect.stringMatching(/^missing +"short" /m)]);
  const early = await cosmig(move, 'rollback', ...SWITCH);
  expect([early.code, early.stderr]).toEqual([
    3,
    expect.stringContaining('cosmig verify --reverse --repair'),
  ]);
  const repair = await cosmig(move, 'verify', '--reverse', '--repair', '--deadline', '60s');
  expect([repair.code, repair.stderr]).toEqual([0, expect.stringContaining('repairing 1 difference')]);
  expect(await move.documents(move.source)).toEqual([lasting, short]);
  const back = await cosmig(move, 'rollback', ...SWITCH);
  expect([back.code, back.stderr]).toEqual([0, expect.anything()]);
  expect(await move.documents(move.source)).toEqual([lasting, short]);
});
