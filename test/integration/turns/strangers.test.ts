/** After a cutover a process that was not stopped writes to the source: what it wrote is named, and never replaced. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { Move, type Order } from '../../helpers/migration/move.ts';
import { cosmig, typed } from '../../helpers/migration/typed.ts';
import { Tapped } from '../../helpers/migration/tapped.ts';
import { Turns } from '../../helpers/migration/turns.ts';
import { until } from '../../helpers/wait.ts';
import { systemClock, type Clock } from '../../../src/lib/clock.ts';
import { NotReadyError } from '../../../src/lib/errors.ts';
import { LivePage } from '../../../src/report/watch/live.ts';
import { Ledger } from '../../../src/state/ledger.ts';
import { cutOverWithProof } from '../../../src/workflows/cutover.ts';

const order = (id: string, more: object = {}): Order => ({ id, customerId: 'c', tenantId: 't', ...more });
const strange = (id: string): Order => order(id, { by: 'another process' });

async function cutOver(move: Move): Promise<Turns> {
  const turns = new Turns(move);
  await move.put(...['kept', 'updated', 'deleted', 'moved', 'untouched'].map((id) => order(id)));
  await turns.run(0, 'copy');
  await turns.cutOver(0);
  return turns;
}

function lettersOf(turns: Turns): readonly string[] {
  using ledger = Ledger.openReadonly(turns.parts(1).spec.ledger);
  return ledger.letters
    .list({ state: 'open', after: 0, limit: 100 })
    .map(({ id, reason }) => `${id} ${reason}`)
    .toSorted();
}

/** What the searches have found, by kind. */
function foundIn(turns: Turns): readonly string[] {
  using ledger = Ledger.openReadonly(turns.parts(1).spec.ledger);
  const found = ledger.journal.writtenByOthers(100);
  return ['deleted', 'written'].flatMap((what) => {
    const ids = found.flatMap((one) => (one.what === what ? one.ids : []));
    return ids.length === 0 ? [] : [[what, ...ids.toSorted()].join(' ')];
  });
}

async function change({ target }: Move): Promise<void> {
  await target.item('updated', 't').replace(order('updated', { by: 'application' }));
  await target.item('deleted', 't').delete();
  await target.item('moved', 't').replace(order('moved', { customerId: 'elsewhere' }));
  await target.items.create(order('created', { by: 'application' }));
}

test('strangers: documents of the source change before the target does -> dead letters, and nothing is lost', async () => {
  await using move = await Move.open({ settings: { avad: true } });
  const turns = await cutOver(move);
  const { source } = move;
  // The map is made here; strangers write after it.
  await turns.run(1, 'catch-up');
  await source.item('updated', 'c').replace(strange('updated'));
  await source.item('deleted', 'c').replace(strange('deleted'));
  await source.items.create(strange('created'));
  await change(move);
  await turns.run(1, 'catch-up');
  expect(lettersOf(turns)).toEqual([
    '"created" changed-by-others',
    '"deleted" changed-by-others',
    '"updated" changed-by-others',
  ]);
  for (const id of ['updated', 'deleted', 'created'])
    expect((await source.item(id, 'c').read<Order>()).resource).toMatchObject(strange(id));
  expect((await source.item('moved', 'elsewhere').read<Order>()).statusCode).toBe(200);

  await expect(turns.cutOver(1)).rejects.toThrow('3 documents are not in the target');
  const repair = await cosmig(move, 'verify', '--reverse', '--repair', '--deadline', '60s');
  expect([repair.code, repair.stderr]).toEqual([0, expect.anything()]);
  expect(await move.documents(source)).toEqual(await move.documents(move.target));
  expect(lettersOf(turns)).toEqual([]);

  expect((await cosmig(move, 'finish', '--yes')).code).toBe(0);
  const next =
    'when nothing reads the source any longer, delete it: it costs its throughput and storage until then';
  const ended = (await typed(move, 'status')).stdout;
  expect(ended.replaceAll(/\s+/g, ' ')).toContain(`next ${next}`);
  expect(ended).not.toMatch(/^lag /m);
  const json: unknown = JSON.parse((await typed(move, 'status', '--json')).stdout);
  expect(json).toMatchObject({ next, wayBack: { state: 'ended' }, seen: { lagSeconds: null } });
  const page = new LivePage(move.ledgerPath, { clock: systemClock, version: '1' }).parts();
  expect(page['now']).toMatch(/<li class="here" aria-current="step">Done</);
  expect(page['now']).toContain(
    '<h1>Finished: the target is in use</h1><p><bdi>When nothing reads the source',
  );
  expect(page['work']).toMatch(/<dt>Lag<\/dt><dd><span class="big">none</);
  // Nothing can be proven any longer: the proof is that of the cutover, and there is no gate to pass.
  expect(ended).toMatch(/^proof +both sides were equal when the cutover committed,/m);
  expect(json).toMatchObject({ lastCommit: { command: 'cutover' } });
  expect(page['proof']).toContain('Both sides were equal when the cutover committed <span');
  expect(page['cutover']).toBe('');
  expect(page['events']).toContain('cosmig finish ended the way back');
  // A page that is kept has no ages, which are wrong a minute later.
  const file = `${move.ledgerPath}.html`;
  await typed(move, 'status', '--report', file);
  expect(readFileSync(file, 'utf8')).not.toMatch(/\d (?:ms|s|min|h|d) (?:ago|left)/);
});

test('strangers: a copy is deleted before its document changes -> a dead letter', async () => {
  await using move = await Move.open({ settings: { avad: true } });
  const turns = await cutOver(move);
  await turns.run(1, 'catch-up');
  await move.source.item('updated', 'c').delete();
  await change(move);
  await turns.run(1, 'catch-up');
  expect(lettersOf(turns)).toEqual(['"updated" changed-by-others']);
});

test('strangers: what no later change concerns -> the rollback refuses, and names it', async () => {
  await using move = await Move.open({ settings: { avad: true } });
  const turns = await cutOver(move);
  await change(move);
  await turns.run(1, 'catch-up');
  expect((await cosmig(move, 'verify', '--reverse')).code).toBe(0);
  await move.source.item('untouched', 'c').replace(strange('untouched'));
  await move.source.items.create(strange('extra'));
  const rollback = await cosmig(move, 'rollback', '--writers-stopped', '--quiet-for', '1s');
  expect([rollback.code, rollback.stderr]).toEqual([3, expect.stringContaining('"untouched"')]);
  expect((await move.source.item('untouched', 'c').read<Order>()).resource).toMatchObject(
    strange('untouched'),
  );
  expect((await move.source.item('extra', 'c').read<Order>()).statusCode).toBe(200);
});

test('strangers: replies to our own writes are lost -> no dead letter', async () => {
  await using move = await Move.open({ settings: { avad: true } });
  const turns = await cutOver(move);
  await turns.run(1, 'catch-up');
  await change(move);
  await move.admin.faults([
    { match: { op: 'batch', coll: 'orders' }, every: 2, times: 12, effect: { reset: 'after' } },
  ]);
  await turns.run(1, 'catch-up');
  await move.admin.faults([]);
  expect(lettersOf(turns)).toEqual([]);
  expect(await move.documents(move.source)).toEqual(await move.documents(move.target));
});

test('strangers: writes before the first reverse -> named, never replaced, and safe again after a repair', async () => {
  await using move = await Move.open({ settings: { avad: true } });
  const turns = await cutOver(move);
  const { source } = move;
  await source.item('updated', 'c').replace(strange('updated'));
  await source.item('untouched', 'c').replace(strange('untouched'));
  await source.item('deleted', 'c').delete();
  await source.items.create(strange('extra'));
  await move.target.item('updated', 't').replace(order('updated', { by: 'application' }));
  const first = await cosmig(move, 'reverse', '--until-caught-up');
  expect([
    first.code,
    first.stderr.match(/another process has written to the source: .* written .*; .* deleted /g),
  ]).toEqual([5, [expect.anything()]]);
  expect((await source.item('updated', 'c').read<Order>()).resource).toMatchObject(strange('updated'));
  expect(foundIn(turns)).toEqual(['deleted "deleted"', 'written "extra" "untouched" "updated"']);
  const status = (await typed(move, 'status')).stdout;
  expect(status).toMatch(/^NOT SAFE +another process has written to the source: /m);
  expect(status.match(/in range 0/g)).toHaveLength(2);
  expect(status).toMatch(
    /^return now +would be refused: NOT SAFE, see above; 1 dead letter must\s+be resolved;/m,
  );
  expect(status.replaceAll(/\s+/g, ' ')).toContain(
    'next stop the process that writes to the source; copy what it wrote there if you need it; run cosmig verify --reverse --repair, which deletes what that process created there and overwrites what it changed',
  );

  // What another process has written under the key of a copy belongs to another document, which is then missing.
  await source.item('kept', 'c').replace({ ...strange('kept'), tenantId: 'u' });
  // The replication of the repair opens a letter of its own, which the repair closes.
  await move.target.item('untouched', 't').replace(order('untouched', { by: 'application' }));
  const repair = await cosmig(move, 'verify', '--reverse', '--repair', '--deadline', '60s');
  expect([repair.code, repair.stderr]).toEqual([0, expect.anything()]);
  expect(await move.documents(source)).toEqual(await move.documents(move.target));
  expect(repair.stderr).toContain('repairing 6 differences');
  // What another process created is gone, so it is named.
  expect(repair.stdout).toMatch(
    /^repaired +4 documents written, 2 removed: "(extra|kept)", "(extra|kept)"$/m,
  );
  expect(repair.stdout.replaceAll(/\s+/g, ' ')).toMatch(
    /dead letters 1 closed: "updated" of \["t"\] was moved; \d more opened and closed while the repair ran /,
  );
  expect((await typed(move, 'status')).stdout).not.toContain('NOT SAFE');
  const back = await cosmig(
    move,
    'rollback',
    '--writers-stopped',
    '--quiet-for',
    '1s',
    '--watch-writes',
    '1s',
  );
  expect([back.code, back.stderr]).toEqual([0, expect.anything()]);
});

test('strangers: a write that no change of the target concerns -> found by the reverse stream, and the rollback refuses', async () => {
  await using move = await Move.open({ settings: { avad: true } });
  const turns = await cutOver(move);
  await change(move);
  await turns.run(1, 'catch-up');
  const figures = join(dirname(move.ledgerPath), 'orders.prom');
  const verifyReverse = ['verify', '--reverse', '--metrics-file', figures];
  expect((await cosmig(move, ...verifyReverse)).code).toBe(0);
  expect(readFileSync(figures, 'utf8')).toMatch(/^cosmig_way_back_unsafe\{.*\} 0$/m);
  await move.source.item('untouched', 'c').replace(strange('untouched'));
  await turns.run(1, 'catch-up');
  expect(foundIn(turns)).toEqual(['written "untouched"']);
  const live = new LivePage(move.ledgerPath, { clock: systemClock, version: '1' });
  expect(live.metrics('openmetrics')).toMatch(/^cosmig_way_back_unsafe\{.*\} 1$/m);
  const page = live.parts();
  expect(page['now']).toMatch(/class="headline wait"><h1>No run since .*; a return is not safe</);
  expect(page['back']).toMatch(/Not safe: another process has written to the source: .*untouched/);
  expect(page['back']).toContain('After a clean cosmig verify --reverse --repair it is safe again.');
  const status = JSON.parse((await typed(move, 'status', '--json')).stdout) as object;
  expect(status).toMatchObject({ wayBack: { state: 'rollback-unsafe', returnWouldSucceed: false } });
  const rollback = await cosmig(move, 'rollback', '--writers-stopped', '--quiet-for', '1s');
  expect([rollback.code, rollback.stderr]).toEqual([
    3,
    expect.stringContaining('another process has written to the source'),
  ]);
  expect(rollback.stderr).not.toContain('the writers are stopped');
  // A comparison finds the difference, and its proof is void: both know who has made it, and what a repair replaces.
  const verify = await cosmig(move, ...verifyReverse);
  expect(readFileSync(figures, 'utf8')).toMatch(/^cosmig_way_back_unsafe\{.*\} 1$/m);
  expect([verify.code, verify.stderr.replaceAll(/\s+/g, ' ')]).toEqual([
    4,
    expect.stringMatching(
      /another process has written to the source: "untouched" written in range 0; stop it, and copy what it wrote if you need it; then stop cosmig reverse and run cosmig verify --reverse --repair, which deletes/,
    ),
  ]);
  const unproven = await cosmig(move, 'rollback', '--writers-stopped', '--quiet-for', '1s');
  expect([unproven.code, unproven.stderr.replaceAll(/\s+/g, ' ')]).toEqual([
    3,
    expect.stringMatching(
      /another process has written to the source why "untouched" written .* copy it first/,
    ),
  ]);
});

test('strangers: ranges of the source split, and only cosmig writes -> nothing is found', async () => {
  await using move = await Move.open({ settings: { avad: true } });
  const turns = await cutOver(move);
  await change(move);
  await turns.run(1, 'catch-up');
  await move.admin.split('shop/orders');
  await move.target.item('untouched', 't').replace(order('untouched', { by: 'application' }));
  await turns.run(1, 'catch-up');
  await turns.run(1, 'catch-up');
  expect(foundIn(turns)).toEqual([]);
  await move.source.item('kept', 'c').replace(strange('kept'));
  await turns.run(1, 'catch-up');
  expect(foundIn(turns)).toEqual(['written "kept"']);
});

test('strangers: a document gives its slot to another one during the search -> nothing is found', async () => {
  await using tapped = await Tapped.open({ settings: { avad: true } });
  const { move, tap } = tapped;
  const { source, target } = move;
  const turns = await cutOver(move);
  await turns.run(1, 'catch-up');
  await target.item('moved', 't').replace(order('moved', { by: 'application' }));
  const newKey = async (): Promise<void> => {
    await target.item('moved', 't').delete();
    await target.items.create(order('moved', { tenantId: 'u' }));
    const isReplicated = async (): Promise<boolean> =>
      (await source.item('moved', 'c').read<Order>()).resource?.tenantId === 'u';
    await until(isReplicated, { what: 'the document under its new key' });
  };
  let [isHeld, later] = [false, 0];
  tap.meddle = async ({ what, container }, forward) => {
    const reply = await forward();
    if (what !== 'read-feed' || container !== 'orders') return reply;
    if (isHeld) later += 1;
    else if (reply.body.includes('"id":"moved"')) {
      await newKey();
      isHeld = true;
    }
    return reply;
  };
  const drain = new AbortController();
  const clock: Clock = {
    ...systemClock,
    // A tail searches every ten seconds.
    sleep: async (ms, signal) => systemClock.sleep(ms === 10_000 ? 100 : ms, signal),
  };
  const tailing = turns.run(1, 'tail', { clock, drain: drain.signal });
  await until(() => later > 2, { what: 'the next searches' });
  drain.abort(new Error('enough'));
  await expect(tailing).rejects.toThrow('enough');
  expect(foundIn(turns)).toEqual([]);
  expect(await move.documents(source)).toEqual(await move.documents(target));
});

test('strangers: a write while the writers are stopped -> the rollback backs out, and nothing of it is replaced', async () => {
  await using move = await Move.open({ settings: { avad: true } });
  const turns = await cutOver(move);
  await turns.run(1, 'catch-up');
  expect((await cosmig(move, 'verify', '--reverse')).code).toBe(0);
  const { source } = move;
  const done = async (): Promise<void> => {};
  const stopWriters = async (): Promise<void> => {
    await source.item('untouched', 'c').replace(strange('untouched'));
    await source.items.create(strange('extra'));
  };
  const hooks = { stopWriters, onCommit: done, onAbort: done };
  const rollback = cutOverWithProof(
    turns.parts(1),
    { ...hooks, deadlineMs: 60_000, quietMs: 50, watchMs: 0, likeSource: [] },
    { onStep: () => {}, onProof: () => {} },
  );
  await expect(rollback).rejects.toThrow(NotReadyError);
  for (const id of ['untouched', 'extra'])
    expect((await source.item(id, 'c').read<Order>()).resource).toMatchObject(strange(id));
});

test('way back: the source is deleted and created again -> refused, and the status says that there is no return', async () => {
  await using move = await Move.open({ settings: { avad: true } });
  const turns = await cutOver(move);
  await turns.run(1, 'catch-up');
  await move.source.delete();
  await move.client.database('shop').containers.create({ id: 'orders', partitionKey: '/customerId' });
  const reverse = await cosmig(move, 'reverse', '--until-caught-up');
  expect([reverse.code, reverse.stderr]).toEqual([
    3,
    expect.stringContaining('was deleted and created again'),
  ]);
  const { stdout } = await typed(move, 'status');
  const never = 'without a new copy, the application cannot switch to the source';
  const words = stdout.replaceAll(/\s+/g, ' ');
  expect(words).toContain(`NOT SAFE the source was deleted and created again; ${never}`);
  expect(stdout).toMatch(/^return now +would be refused/m);
  expect(words).toContain(`next cosmig finish --yes ends the way back: ${never}`);
});
