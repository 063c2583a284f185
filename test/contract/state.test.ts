/** The state that the emulator reports, what a data file keeps, and the clock. */
// A second argument names the case of a table that has failed.
// oxlint-disable vitest/valid-expect
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { RangeState } from '../helpers/emulator/admin.ts';
import { startTestEmulator } from '../helpers/emulator/emulator.ts';
import { headerOf, parseJson } from '../helpers/emulator/raw.ts';
import { type Doc, type Version, WireContainer } from '../helpers/emulator/wire-container.ts';
import { forEachEmulator } from './backend.ts';
import { hashKey } from '../helpers/emulator/key-definitions.ts';

const SECOND_MS = 1000;

/** Every range anywhere in the state. */
function rangesIn(value: unknown): RangeState[] {
  if (Array.isArray(value)) return value.flatMap(rangesIn);
  if (typeof value !== 'object' || value === null) return [];
  const inside = Object.values(value).flatMap(rangesIn);
  const isRange = 'min' in value && 'max' in value && 'documents' in value;
  return isRange ? [value as RangeState, ...inside] : inside;
}

async function withDataFile(work: (file: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'cosmig-contract-'));
  try {
    await work(join(folder, 'account.db'));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

forEachEmulator('state', (backend) => {
  it('GET state -> ranges with their documents and bytes', async () => {
    await using lab = await backend.freshLab();
    const { wire } = await lab.splitContainer(2);
    await wire.seed(
      Array.from({ length: 20 }, (_, n) => ({ id: `d${n}`, pk: `k${n}`, fill: 'x'.repeat(100) })),
    );
    const ranges = rangesIn(await lab.admin.state());
    const mapped = await wire.ranges();
    expect(ranges.map((range) => range.id).sort()).toEqual(mapped.map((range) => range.id).sort());
    for (const range of ranges) {
      const same = mapped.find((each) => each.id === range.id);
      expect(range).toMatchObject({ min: same?.minInclusive, max: same?.maxExclusive });
      expect(range.documents).toBeGreaterThan(0);
      expect(range.bytes).toBeGreaterThan(range.documents * 100);
    }
    expect(ranges.reduce((sum, range) => sum + range.documents, 0)).toBe(20);
    await wire.delete('d0', ['k0']);
    expect(rangesIn(await lab.admin.state()).reduce((sum, range) => sum + range.documents, 0)).toBe(19);
  });

  it('GET state -> databases, containers, totals and request counts', async () => {
    await using lab = await backend.freshLab();
    const { container, wire } = await lab.container();
    await wire.create('{"id":"a","pk":"p"}', ['p']);
    await wire.create('{"id":"a","pk":"p"}', ['p']);
    const before = JSON.stringify(await lab.admin.state());
    for (const word of ['contract', container.id, '201', '409', 'create', 'totals', 'requests']) {
      expect(before, word).toContain(word);
    }
    await wire.read('a', ['p']);
    expect(JSON.stringify(await lab.admin.state())).not.toBe(before);
  });

  it('a plain fetch from this machine without a key -> the state', async () => {
    const reply = await fetch(new URL('/_emulator/state', backend.lab.endpoint), {
      headers: { connection: 'close' },
    });
    expect(reply.status).toBe(200);
    expect(await reply.json()).toEqual(expect.any(Object));
  });

  it('GET state -> contains no key', async () => {
    expect(JSON.stringify(await backend.admin.state())).not.toContain(backend.lab.key);
  });
});

forEachEmulator('controls', (backend) => {
  it('an unknown field or value -> 400', async () => {
    const wrong: [string, string, unknown][] = [
      ['PUT', 'account', '{'],
      ['PUT', 'account', []],
      ['PUT', 'account', { ru: 'sometimes' }],
      ['PUT', 'account', { avad: 'yes' }],
      ['PUT', 'account', { retentionSeconds: -1 }],
      ['PUT', 'account', { numbers: 'roman' }],
      ['PUT', 'account', { noSuchSetting: 1 }],
      ['PUT', 'clock', { offsetMs: 'later' }],
      ['PUT', 'clock', {}],
    ];
    for (const [method, route, body] of wrong) {
      const reply = await backend.admin.send(method, route, body);
      expect(reply.status, `${route} ${JSON.stringify(body)}`).toBe(400);
      expect(parseJson(reply)['message'], route).toEqual(expect.any(String));
    }
    expect((await backend.admin.send('GET', 'nothing')).status).toBe(404);
    expect((await backend.admin.send('DELETE', 'account')).status).toBe(405);
  });

  it('a clock offset -> moves timestamps and the date of every reply', async () => {
    const { wire } = await backend.container();
    await backend.admin.clock(300 * SECOND_MS);
    const reply = await wire.create('{"id":"a","pk":"p"}', ['p']);
    const ahead = Number(parseJson<Doc>(reply)._ts) - Date.now() / 1000;
    expect(Math.abs(ahead - 300)).toBeLessThan(60);
    const dateAhead = (Date.parse(headerOf(reply, 'date')) - Date.now()) / 1000;
    expect(Math.abs(dateAhead - 300)).toBeLessThan(60);
    await backend.admin.clock(0);
    const back = await wire.create('{"id":"b","pk":"p"}', ['p']);
    expect(Math.abs(Number(parseJson<Doc>(back)._ts) - Date.now() / 1000)).toBeLessThan(60);
    // However the clock jumps, the order of changes is the order of writes.
    const { items } = await wire.drain({ rangeId: (await wire.onlyRange()).id }, 'beginning');
    expect(items.map((doc) => doc.id)).toEqual(['a', 'b']);
  });

  it('two emulators in one process -> share nothing', async () => {
    await using other = await backend.freshLab();
    const { container } = await backend.container();
    await other.admin.faults([{ match: { op: 'create' }, effect: { status: 500 } }]);
    await other.admin.clock(600 * SECOND_MS);
    const { resource } = await container.items.create({ id: 'a', pk: 'p' });
    expect(Math.abs(Number(resource?._ts) - Date.now() / 1000)).toBeLessThan(60);
  });
});

forEachEmulator('a data file', (backend) => {
  it('a restart -> documents, positions, ranges, settings and scripts are kept', async () => {
    await withDataFile(async (data) => {
      const definition = hashKey();
      const first = await backend.freshLab({ data, settings: { avad: true } });
      const { container, wire } = await first.container({
        partitionKey: definition,
        defaultTtl: 7000,
        throughput: 900,
      });
      await wire.seed([1, 2, 3].map((n) => ({ id: `d${n}`, pk: `k${n}`, big: `${n}` })));
      await wire.create('{"id":"verbatim","pk":"p","n":9223372036854775807,"m":1.10}', ['p']);
      await container.scripts.storedProcedures.create({ id: 'proc', body: 'function () {}' });
      const { id: rangeId } = await wire.onlyRange();
      const latest = await wire.feed({ rangeId }, 'beginning', { max: 2 });
      const avad = await wire.feed({ rangeId }, 'now', { mode: 'avad' });
      const before = { rid: (await container.read()).resource?._rid, doc: await wire.read('d1', ['k1']) };
      const lsnBefore = Number(latest.items.at(-1)?._lsn);
      await first.admin.split(wire.adminPath);
      const ranges = await wire.ranges();
      await first[Symbol.asyncDispose]();

      await using second = await backend.freshLab({ data, settings: { avad: true } });
      const again = new WireContainer(second.raw, second.databaseId, container.id);
      const same = second.database.container(container.id);
      const { resource } = await same.read();
      expect(resource?._rid).toBe(before.rid);
      expect(resource?.defaultTtl).toBe(7000);
      expect((await same.readOffer()).resource?.content?.offerThroughput).toBe(900);
      expect((await same.scripts.storedProcedures.readAll().fetchAll()).resources).toMatchObject([
        { id: 'proc' },
      ]);
      expect((await again.read('d1', ['k1'])).text).toBe(before.doc.text);
      expect((await again.read('verbatim', ['p'])).text).toContain('"n":9223372036854775807,"m":1.10');
      expect(await again.ranges()).toEqual(ranges);
      await again.seed([{ id: 'later', pk: 'k9' }]);
      await again.delete('d2', ['k2']);
      const rest: Doc[] = [];
      const versions: Version[] = [];
      for (const range of ranges) {
        rest.push(...(await again.drain({ rangeId: range.id }, { etag: latest.etag })).items);
        versions.push(
          ...(await again.drain<Version>({ rangeId: range.id }, { etag: avad.etag }, { mode: 'avad' })).items,
        );
      }
      expect(rest.map((doc) => doc.id).sort()).toEqual(['d3', 'later', 'verbatim']);
      for (const doc of rest) expect(doc._lsn).toBeGreaterThan(lsnBefore);
      expect(versions.map((version) => version.metadata.operationType).sort()).toEqual(['create', 'delete']);
    });
  });

  it('the emulator is closed -> file and port are free again', async () => {
    await withDataFile(async (data) => {
      const first = await startTestEmulator({ data });
      const { port } = new URL(first.endpoint);
      await first.close();
      const second = await startTestEmulator({ data, port: Number(port) });
      expect(second.endpoint).toBe(first.endpoint);
      await second.close();
    });
  });
});
