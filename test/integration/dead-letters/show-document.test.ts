/** The document of a dead letter, read from the source through the real SDK: its exact text, wherever it is now. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { Ledger } from '../../../src/state/ledger.ts';
import type { LetterChange } from '../../../src/state/dead-letters.ts';
import { ContainerLab } from '../../helpers/emulator/container-requests.ts';
import { runCosmig, type Ran } from '../../helpers/run-cosmig.ts';
import { hashOf, NOW_MS, SPEC } from '../../unit/state/making.ts';

/** No URL reaches this id, and JSON.parse rounds these numbers. */
const ID = 'b?c#d%e "é"';
const TEXT = `{"id":${JSON.stringify(ID)},"pk":"amber","big":9223372036854775807,"price":1.10,"zero":-0}`;

let folder: string;
let lab: ContainerLab;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cosmig-letters-'));
  lab = await ContainerLab.open();
});
afterEach(async () => {
  await lab[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

async function create(key: string | undefined, text: string): Promise<void> {
  const result = await lab.send([{ do: 'create', key: [key], text }]);
  expect(result).toMatchObject({ answered: true, outcomes: [{ status: 201 }] });
}

/** A ledger of a migration from this account, with one letter. */
function ledgerWith(id: string, sourceKey: string): string {
  const path = join(folder, 'ledger.db');
  const source = { ...SPEC.source, endpoint: lab.account.endpoint };
  using ledger = Ledger.open({ path, spec: { ...SPEC, source }, nowMs: NOW_MS, create: 'if-missing' });
  const letter: LetterChange = {
    change: 'open',
    letter: {
      identity: hashOf('a'),
      reason: 'rejected',
      code: '400',
      why: 'the service did not take it',
      id: JSON.stringify(id),
      sourceKey,
      targetKey: null,
      slot: null,
      waits: { for: 'nothing' },
      atMs: NOW_MS,
    },
  };
  ledger.units.commit([{ unit: ledger.units.nextUnit(), move: null, letters: [letter] }]);
  return path;
}

function show(path: string, ...argv: readonly string[]): Promise<Ran> {
  const { endpoint, key } = lab.access;
  return runCosmig(['dead-letters', 'show', '1', '--document', '--ledger', path, ...argv], {
    env: { COSMIG_SOURCE_CONNECTION_STRING: `AccountEndpoint=${endpoint};AccountKey=${key};` },
    clock: systemClock,
  });
}

describe('dead-letters show: the document', () => {
  test('range was split -> still shown byte for byte', async () => {
    await create('amber', TEXT);
    await lab.split();
    const { code, stdout, stderr } = await show(ledgerWith(ID, '["amber"]'));
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const shown = stdout.trimEnd().split('\n\n').at(-1) ?? '';
    expect(shown.startsWith(TEXT.slice(0, -1))).toBe(true);
  });

  test('--json -> exact text, without rounded numbers', async () => {
    await create('amber', TEXT);
    const { stdout } = await show(ledgerWith(ID, '["amber"]'), '--json');
    const { document } = JSON.parse(stdout) as { document: string };
    expect(document.startsWith(TEXT.slice(0, -1))).toBe(true);
  });

  test('no key value -> found', async () => {
    await create(undefined, '{"id":"keyless"}');
    const { stdout } = await show(ledgerWith('keyless', '[{}]'), '--json');
    expect(JSON.parse(stdout)).toMatchObject({ document: expect.stringMatching(/^\{"id":"keyless",/) });
  });

  test('deleted -> reported as deleted', async () => {
    const path = ledgerWith('gone', '["amber"]');
    const { code, stdout } = await show(path);
    expect(code).toBe(0);
    expect(stdout).toMatch(/\n\nthe document was deleted in the source\n$/);
    const next =
      'nothing: its document was deleted in the source, and cosmig tail closes the letter while it runs';
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(` next ${next} `);
    expect(JSON.parse((await show(path, '--json')).stdout)).toMatchObject({ document: null, next });
  });

  test('source is busy -> waited for', async () => {
    await create('amber', TEXT);
    await lab.admin.faults([
      { match: { op: 'read' }, times: 2, effect: { status: 429, substatus: 3200, retryAfterMs: 5 } },
    ]);
    const { code, stdout, stderr } = await show(ledgerWith(ID, '["amber"]'));
    expect(code).toBe(0);
    expect(stdout).toContain('9223372036854775807');
    expect(stderr).toContain('waiting for the source');
  });

  test('container does not exist -> exit code 3', async () => {
    await lab.account.client.database('shop').container('orders').delete();
    const { code, stderr } = await show(ledgerWith(ID, '["amber"]'));
    expect(code).toBe(3);
    expect(stderr).toContain('there is no container shop/orders');
  });
});
