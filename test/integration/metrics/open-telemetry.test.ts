/** A command with a module that registers a meter provider before it, as NODE_OPTIONS of an operator does. */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { Move } from '../../helpers/migration/move.ts';
import { envOf, typed, withSpec } from '../../helpers/migration/typed.ts';
import { startCosmig } from '../../helpers/process/cosmig-process.ts';

/** Writes what it exports to a file, and exports only when it is asked to. */
const SETUP = `
const { writeFileSync } = require('node:fs');
const reads = [];
const create = (name) => ({ addCallback: (read) => reads.push([name, read]), removeCallback: () => {} });
const metrics = {
  getMeter: (name) => ({ createObservableCounter: create, createObservableGauge: create }),
  forceFlush: async () => {
    await new Promise((resolve) => setTimeout(resolve, 200));
    const found = {};
    for (const [name, read] of reads) read({ observe: (value, { side }) => (found[side ? name + ' ' + side : name] = value) });
    writeFileSync(process.env.OTEL_OUT, JSON.stringify(found));
  },
};
globalThis[Symbol.for('opentelemetry.js.api.1')] = { version: '1.9.0', metrics };
`;

test('copy with a registered meter provider -> its last figures are exported before the process exits', async () => {
  await using move = await Move.open();
  for (let n = 0; n < 10; n += 1) await move.put({ id: `o${n}`, customerId: `c${n}`, tenantId: `t${n % 3}` });
  const folder = dirname(move.ledgerPath);
  const [setup, out] = [join(folder, 'otel.cjs'), join(folder, 'otel.json')];
  writeFileSync(setup, SETUP);
  const env = { ...envOf(move), NODE_OPTIONS: `--require ${setup}`, OTEL_OUT: out };
  await using copy = startCosmig(withSpec(['copy']), env);
  expect(await copy.ended).toMatchObject({ code: 0 });
  const { ru } = JSON.parse((await typed(move, 'status', '--json')).stdout) as {
    readonly ru: { readonly target: number };
  };
  expect(JSON.parse(readFileSync(out, 'utf8'))).toMatchObject({
    cosmig_documents_read: 10,
    cosmig_running: 0,
    'cosmig_request_units target': ru.target,
    cosmig_last_run_end_timestamp_seconds: expect.any(Number) as number,
  });
});
