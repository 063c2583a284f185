/** What every command prints with --json, on stdout and on stderr, is what docs/reference/schemas says. */
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { commands } from '../../../src/commands/all.ts';
import { PROBES } from '../../../src/doctor/probes/all.ts';
import { RESULTS } from '../../../src/report/json/results.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { faultsOf } from '../../helpers/docs/json-schema.ts';
import { Move } from '../../helpers/migration/move.ts';
import { CosmigRun, runCosmig, type Ran } from '../../helpers/run-cosmig.ts';
import { PLACES, SPEC, typed } from '../../helpers/migration/typed.ts';
import { until } from '../../helpers/wait.ts';

function schemaOf(name: string): unknown {
  const file = new URL(`../../../docs/reference/schemas/${name}.schema.json`, import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8'));
}

const LINES = { anyOf: [schemaOf('progress'), schemaOf('message')] };
/** Further members of a message depend on the message. */
const MESSAGE_MEMBERS = /^\$\.\w+ is not documented$/;

type Json = Readonly<Record<string, unknown>>;

/** The one object on stdout, after it and every line on stderr were validated. */
function validated(name: string, { stdout, stderr }: Pick<Ran, 'stdout' | 'stderr'>): Json {
  const [first = '', ...rest] = stdout.split('\n');
  expect([name, rest]).toEqual([name, ['']]);
  const result = JSON.parse(first) as Json;
  expect([name, faultsOf(schemaOf(name.replaceAll(' ', '-')), result)]).toEqual([name, []]);
  for (const line of stderr.split('\n').slice(0, -1)) {
    const faults = faultsOf(LINES, JSON.parse(line)).filter((fault) => !MESSAGE_MEMBERS.test(fault));
    expect([name, line, faults]).toEqual([name, line, []]);
  }
  return result;
}

const COMMANDS = commands.map(({ name }) => name).toSorted((one, other) => other.length - one.length);

test('json: any command -> its output has a schema', () => {
  expect(Object.keys(RESULTS).toSorted()).toEqual(COMMANDS.toSorted());
});

test('json: a migration with every command -> every result and line fits its schema', async () => {
  await using move = await Move.open();
  const ask = async (line: string, ...flags: string[]): Promise<readonly [number, Json]> => {
    const ran = await typed(move, ...line.split(' '), ...flags, '--json');
    const name = COMMANDS.find((command) => line.startsWith(command)) ?? line;
    return [ran.code, validated(name, ran)];
  };
  for (let n = 0; n < 20; n += 1)
    await move.put({ id: `o${n}`, customerId: `c${n % 7}`, tenantId: `t${n % 3}` });
  await move.put({ id: 'o1', customerId: 'other', tenantId: 't1' });

  expect(await ask('doctor', ...SPEC)).toMatchObject([0, { complete: true }]);
  expect(await ask('doctor', ...SPEC, '--deletes', 'avad')).toMatchObject([3, { complete: false }]);
  const probing = ['--probe', 'shop/cosmig-probe'];
  expect(await ask('doctor', ...SPEC, ...probing)).toMatchObject([
    0,
    { probes: PROBES.map(({ id }) => ({ id })) },
  ]);
  const plan = 'plan --source shop/orders';
  expect(await ask(plan, '--candidate', '/tenantId')).toMatchObject([4, { error: { code: 'mismatch' } }]);
  expect(await ask(`${plan} --print-kql`)).toMatchObject([0, { command: 'plan' }]);
  expect(await ask('verify', ...SPEC)).toMatchObject([7, { equal: null, error: { code: 'ledger' } }]);
  expect(await ask('copy', ...SPEC)).toMatchObject([3, { complete: false }]);
  expect(await ask('copy --dry-run --yes', ...SPEC)).toMatchObject([0, { dryRun: true }]);
  expect(await ask('copy --yes', ...SPEC)).toMatchObject([5, { error: { code: 'dead-letters' } }]);
  expect(await ask('tail --until-caught-up', ...SPEC)).toMatchObject([5, { phase: 'tailing' }]);
  expect(await ask('tail --ttl soon', ...SPEC)).toMatchObject([2, { error: { problems: [{}] } }]);
  expect(await ask('dead-letters list')).toMatchObject([0, { number: 1 }]);
  expect(await ask('dead-letters show 1')).toMatchObject([0, { waitsFor: 'slot' }]);
  expect(await ask('dead-letters show 1 --document', ...PLACES)).toMatchObject([0, { number: 1 }]);
  expect(await ask('dead-letters retry 1', ...SPEC)).toMatchObject([5, { retried: 1, closed: 0 }]);
  expect(await ask('dead-letters discard 1')).toMatchObject([0, { discarded: 1 }]);
  expect(await ask('tail --until-caught-up', ...SPEC)).toMatchObject([0, { complete: true }]);

  expect(await ask('verify --level count', ...SPEC)).toMatchObject([0, { ranges: { source: [{}] } }]);
  expect(await ask('verify', ...SPEC)).toMatchObject([0, { equal: true, samples: [] }]);
  await move.target.item('o2', 't2').delete();
  expect(await ask('verify --fresh', ...SPEC)).toMatchObject([4, { samples: [{ kind: 'missing' }] }]);
  expect(await ask('verify --repair', ...SPEC)).toMatchObject([0, { equal: true }]);

  expect(await ask('status')).toMatchObject([0, { deadLetters: { open: 0, discarded: 1 }, running: null }]);
  const cut = 'cutover --writers-stopped --quiet-for 1s --watch-writes 1s';
  expect(await ask(cut, ...SPEC)).toMatchObject([0, { phase: 'committed', lateWrites: [] }]);
  expect(await ask('status')).toMatchObject([0, { cutover: { state: 'committed', left: [] } }]);

  const file = `${move.ledgerPath}.json`;
  expect(await ask('key', '--partition-key', '/tenantId', file)).toMatchObject([2, { complete: false }]);
  writeFileSync(file, '{"id":"1","tenantId":"a"}\n{"id":"2"}\n{"id":"3","tenantId":[]}\n');
  expect(await ask('key', '--partition-key', '/tenantId', file)).toMatchObject([0, { documents: 3 }]);
});

test('json: another run holds the ledger, --skip-if-running -> the result fits its schema', async () => {
  await using move = await Move.open();
  await move.put({ id: '1', customerId: 'a', tenantId: 'P' });
  expect((await typed(move, 'copy', '--yes', ...SPEC)).code).toBe(0);
  const env = { COSMIG_SOURCE_CONNECTION_STRING: move.connectionString, COSMIG_LEDGER: move.ledgerPath };
  const tail = new CosmigRun(['tail', ...SPEC, '--json'], { env, clock: systemClock });
  await until(async () => (await typed(move, 'status', '--json')).stdout.includes('"running":{"pid":'), {
    what: 'a tail that holds the ledger',
  });
  const skipped = await typed(move, 'tail', ...SPEC, '--skip-if-running', '--json');
  expect(validated('tail', skipped)).toMatchObject({ skipped: true });
  tail.press('SIGINT');
  const { code, ...ran } = await tail.ended;
  expect([code, validated('tail', ran)]).toMatchObject([130, { error: { code: 'canceled' } }]);
});

test('json: the emulator, completion and the demo -> their results fit their schemas', async () => {
  const run = new CosmigRun(['emulator', '--port', '0', '--json']);
  await until(() => run.stdout !== '', { what: 'the line of an emulator that is ready' });
  run.press('SIGINT');
  expect(validated('emulator', await run.ended)).toMatchObject({ ready: true });
  const completion = await runCosmig(['completion', 'fish', '--json']);
  expect(validated('completion', completion)).toMatchObject({ shell: 'fish' });
  const demo = await runCosmig(['demo', '--fast', '--json'], { clock: systemClock });
  expect(validated('demo', demo)).toMatchObject({ complete: true });
});
