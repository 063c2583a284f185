/** Bytes are sacred: a document's text comes back as it went in, whichever way it is read. */
// A second argument names the case of a table that has failed.
// oxlint-disable vitest/valid-expect
import { expect, it } from 'vitest';
import type { FaultRule } from '../helpers/emulator/admin.ts';
import { parseJson, type Reply } from '../helpers/emulator/raw.ts';
import {
  type Doc,
  type Key,
  type OperationResult,
  opKey,
  type WireContainer,
} from '../helpers/emulator/wire-container.ts';
import { forEachBackend, forEachEmulator } from './backend.ts';

const MIB = 1024 * 1024;
const AT: Key = ['p'];

/** Members that a parse and a rebuild would change. */
const MEMBERS: readonly [string, string][] = [
  ['int64 limits', '"max":9223372036854775807,"min":-9223372036854775808,"beyond":9007199254740993'],
  [
    'digits',
    '"price":1.10,"whole":3.0,"exp":1E5,"exp2":1e+05,"tiny":1e-7,"long":0.1000000000000000055511151231257827',
  ],
  ['minus zero', '"zero":-0,"point":-0.0'],
  ['escapes', '"e":"\\u00e9\\u0041\\/\\b\\f\\n\\r\\t\\"\\\\","E":"\\u00E9","raw":"é日本😀"'],
  ['lone surrogates', '"high":"\\ud800","low":"\\uDC00x","swapped":"\\udc00\\ud800","pair":"\\ud83d\\ude00"'],
  ['control and separator escapes', '"nul":"\\u0000","sep":"\\u2028\\u2029","del":"\\u007f"'],
  [
    'prototype names',
    '"__proto__":{"polluted":true},"constructor":{"prototype":1},"toString":"x","hasOwnProperty":null',
  ],
  ['key order', '"z":1,"10":2,"a":3,"9":4,"2":5,"-1":6'],
  ['names that need care', '"":"empty","a b":1,"a.b":2,"a/b":3,"\\u0041":4,"quote\\"d":5,"é":6'],
  ['duplicate names', '"twice":1,"twice":2,"deep":{"x":1,"x":2}'],
  [
    'nested system names',
    '"inner":{"_ts":1,"_etag":"mine","_rid":"r","_self":"s","_attachments":"a","_lsn":7,"id":9}',
  ],
  ['names that look like system ones', '"_mine":1,"_TS":2,"__ts":3,"ts_":4,"_lsnx":5'],
  ['empty things', '"o":{},"a":[],"s":"","n":null,"t":true,"f":false,"aa":[[],[[]],{}]'],
  ['big arrays', `"numbers":[${Array.from({ length: 50 }, (_, n) => `${n}.50`).join(',')}]`],
];

/** Every way a document is read. Each answer is text that must contain the members untouched. */
const READS: readonly [string, (wire: WireContainer, id: string) => Promise<Reply>][] = [
  ['point read', (wire, id) => wire.read(id, AT)],
  ['feed', async (wire) => wire.readFeed({ rangeId: (await wire.onlyRange()).id }, 'beginning')],
  ['feed of a key', (wire) => wire.readFeed({ key: AT }, 'beginning')],
  ['query', (wire) => wire.query('SELECT * FROM c')],
  ['query VALUE c', (wire) => wire.query('SELECT VALUE c FROM c')],
  [
    'bulk read',
    async (wire, id) =>
      wire.bulk((await wire.onlyRange()).id, [{ operationType: 'Read', id, partitionKey: opKey('p') }]),
  ],
  ['batch read', (wire, id) => wire.batch([{ operationType: 'Read', id }], AT)],
];

function nested(depth: number): string {
  // The document itself is the first level, so the array inside is one less.
  return `{"id":"deep","pk":"p","d":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
}

forEachBackend('document text', (backend) => {
  it.skipIf(backend.live).each(MEMBERS)('%s -> returned byte for byte', async (_what, members) => {
    const { wire } = await backend.container();
    const text = `{"id":"a","pk":"p",${members}}`;
    const created = await wire.create(text, AT);
    expect(created.status).toBe(201);
    expect(created.text).toContain(members);
    for (const [way, read] of READS) expect((await read(wire, 'a')).text, way).toContain(members);
  });

  it
    .skipIf(backend.live)
    .each(['create', 'upsert', 'replace', 'bulk create', 'bulk upsert', 'bulk replace', 'batch'])(
    'written by %s -> text unchanged',
    async (way) => {
      const { wire } = await backend.container();
      const members = MEMBERS.map(([, text]) => text)
        .filter((text) => !text.includes('twice'))
        .join(',');
      const text = `{"id":"a","pk":"p",${members}}`;
      const { id: rangeId } = await wire.onlyRange();
      const op = (operationType: string): string =>
        `[{"operationType":"${operationType}","id":"a","resourceBody":${text},"partitionKey":"[\\"p\\"]"}]`;
      if (way.endsWith('replace')) await wire.seed([{ id: 'a', pk: 'p' }]);
      if (way === 'create') await wire.create(text, AT);
      else if (way === 'upsert') await wire.upsert(text, AT);
      else if (way === 'replace') await wire.replace('a', text, AT);
      else if (way === 'bulk create') await wire.bulk(rangeId, op('Create'));
      else if (way === 'bulk upsert') await wire.bulk(rangeId, op('Upsert'));
      else if (way === 'bulk replace') await wire.bulk(rangeId, op('Replace'));
      else {
        await wire.account.send('POST', `${wire.path}/docs`, {
          body: op('Create'),
          headers: {
            'x-ms-cosmos-is-batch-request': 'true',
            'x-ms-cosmos-batch-atomic': 'true',
            'x-ms-documentdb-partitionkey': '["p"]',
          },
        });
      }
      expect((await wire.read('a', AT)).text).toContain(members);
    },
  );

  it.skipIf(backend.live)('another property is patched -> text unchanged', async () => {
    const { wire } = await backend.container();
    const untouched =
      '"max":9223372036854775807,"price":1.10,"zero":-0,"e":"\\u00e9","__proto__":{"x":1.0},"z":1,"10":2';
    await wire.create(`{"id":"a","pk":"p",${untouched},"n":1}`, AT);
    const patched = await wire.patch(
      'a',
      '[{"op":"set","path":"/n","value":2.50},{"op":"add","path":"/big","value":9223372036854775807}]',
      AT,
    );
    expect(patched.status).toBe(200);
    const { text } = await wire.read('a', AT);
    expect(text).toContain(untouched);
    expect(text).toContain('9223372036854775807,"price"');
    expect(text).toMatch(/"n":2\.50\b/);
    expect(text).toContain('"big":9223372036854775807');
  });

  it("system properties in the request -> replaced by the account's own", async () => {
    const { wire } = await backend.container();
    const sent =
      '{"_rid":"mine","id":"a","_self":"mine","_etag":"mine","pk":"p","_attachments":"mine","_ts":1,"n":1}';
    const { text } = await wire.create(sent, AT);
    expect(text).not.toContain('mine');
    for (const name of ['_rid', '_self', '_etag', '_attachments', '_ts']) {
      expect(text.split(`"${name}":`), name).toHaveLength(2);
    }
    const stored = parseJson<Doc>({ text });
    expect(stored).toMatchObject({ id: 'a', pk: 'p', n: 1 });
    expect(stored._ts).toBeGreaterThan(1_600_000_000);
  });

  it('written back as it was read -> same size', async () => {
    const { wire } = await backend.container();
    await wire.create('{"id":"a","pk":"p","n":1.50}', AT);
    const once = await wire.read('a', AT);
    await wire.replace('a', once.text, AT);
    const twice = await wire.read('a', AT);
    await wire.upsert(twice.text, AT);
    const thrice = await wire.read('a', AT);
    const names = (reply: Reply): string[] => Object.keys(parseJson(reply)).sort();
    expect(names(thrice)).toEqual(names(once));
    expect(Math.abs(thrice.text.length - once.text.length)).toBeLessThan(8);
  });

  it.skipIf(backend.live)('white space anywhere -> accepted and kept', async () => {
    const { wire } = await backend.container();
    const spaced = ' {\r\n\t"id" : "a" ,\n "pk":\t"p" , "list" : [ 1.0 , { } ] } ';
    expect((await wire.create(spaced, AT)).status).toBe(201);
    expect(parseJson<Doc>(await wire.read('a', AT))).toMatchObject({ id: 'a', pk: 'p', list: [1, {}] });
    const { items } = await wire.drain({ rangeId: (await wire.onlyRange()).id }, 'beginning');
    expect(items).toMatchObject([{ id: 'a', list: [1, {}] }]);
  });

  it('escaped id and key -> found', async () => {
    const { wire } = await backend.container();
    expect((await wire.create('{"\\u0069d":"\\u0061\\u00e9","p\\u006b":"\\u0070"}', AT)).status).toBe(201);
    const read = await wire.read('aé', AT);
    expect(read.status).toBe(200);
    expect(parseJson<Doc>(read)).toMatchObject({ id: 'aé', pk: 'p' });
  });

  it('128 levels -> accepted, 129 -> refused', async () => {
    const { wire } = await backend.container();
    expect((await wire.create(nested(128), AT)).status).toBe(201);
    expect((await wire.upsert(nested(130), AT)).status).toBe(400);
    expect((await wire.upsert(nested(100_000), AT)).status).toBe(400);
    expect(parseJson<Doc>(await wire.read('deep', AT)).id).toBe('deep');
  });

  it('two megabytes -> counted in bytes, not in characters', async () => {
    const { wire } = await backend.container();
    const wide = JSON.stringify({ id: 'wide', pk: 'p', fill: 'é'.repeat(MIB) });
    expect(wide.length).toBeLessThan(2 * MIB);
    expect((await wire.create(wide, AT)).status).toBe(413);
    const fits = JSON.stringify({ id: 'fits', pk: 'p', fill: 'é'.repeat(MIB - 2048) });
    expect((await wire.create(fits, AT)).status).toBe(201);
    expect(parseJson<Doc>(await wire.read('fits', AT))['fill']).toHaveLength(MIB - 2048);
  });

  it('a number beyond every double -> refused or kept, never changed', async () => {
    const { wire } = await backend.container();
    const reply = await wire.create('{"id":"a","pk":"p","n":1e400,"m":-1e999}', AT);
    const kept = (await wire.read('a', AT)).text.includes('"n":1e400,"m":-1e999');
    expect([reply.status, kept]).toEqual(kept ? [201, true] : [400, false]);
  });

  it.each([
    '{"id":"a","pk":"p","n":01}',
    '{"id":"a","pk":"p","n":1.}',
    '{"id":"a","pk":"p","n":.5}',
    '{"id":"a","pk":"p","n":+1}',
    '{"id":"a","pk":"p","n":NaN}',
    '{"id":"a","pk":"p","n":0x10}',
    '{"id":"a","pk":"p",}',
    "{'id':'a','pk':'p'}",
    '{"id":"a","pk":"p","s":"tab\there"}',
    '{"id":"a","pk":"p","s":"\\x"}',
    '{"id":"a","pk":"p","s":"\\u12"}',
    '{"id":"a","pk":"p"}{"id":"b"}',
    '{"id":"a","pk":"p","a":[1,]}',
    '{"id":"a" "pk":"p"}',
    '{"id":"a","pk":"p","t":True}',
  ])('invalid JSON %s -> refused', async (text) => {
    const { wire } = await backend.container();
    expect((await wire.create(text, AT)).status).toBe(400);
    const op = `[{"operationType":"Upsert","resourceBody":${text},"partitionKey":"[\\"p\\"]"}]`;
    const bulk = await wire.bulk((await wire.onlyRange()).id, op);
    expect(bulk.status).toBe(400);
    expect((await wire.read('a', AT)).status).toBe(404);
  });
});

forEachEmulator('numbers as the service may store them', (backend) => {
  it('numbers: service -> -0, 1.10 and 3.0 are normalized', async () => {
    await using lab = await backend.freshLab({ settings: { numbers: 'service' } });
    const { wire } = await lab.container();
    const sent =
      '{"id":"a","pk":"p","zero":-0,"price":1.10,"whole":3.0,"list":[-0,2.50,{"x":7.0}],"text":"1.10 -0 3.0","n":5}';
    expect((await wire.create(sent, AT)).status).toBe(201);
    const expected = '"zero":0,"price":1.1,"whole":3,"list":[0,2.5,{"x":7}],"text":"1.10 -0 3.0","n":5';
    for (const [way, read] of READS) expect((await read(wire, 'a')).text, way).toContain(expected);
    const [result] = parseJson<OperationResult[]>(
      await wire.bulk(
        (await wire.onlyRange()).id,
        '[{"operationType":"Upsert","resourceBody":{"id":"b","pk":"p","v":4.0},"partitionKey":"[\\"p\\"]"}]',
      ),
    );
    expect(result?.statusCode).toBe(201);
    expect((await wire.read('b', AT)).text).toContain('"v":4');
    expect((await wire.read('b', AT)).text).not.toContain('4.0');
  });

  it('a fault refuses one read -> unchanged in the next', async () => {
    const { wire } = await backend.container();
    const fault: FaultRule = { match: { op: 'read' }, times: 1, effect: { status: 503 } };
    await wire.create('{"id":"a","pk":"p","n":1.10}', AT);
    await backend.admin.faults([fault]);
    expect((await wire.read('a', AT)).status).toBe(503);
    expect((await wire.read('a', AT)).text).toContain('"n":1.10');
  });
});
