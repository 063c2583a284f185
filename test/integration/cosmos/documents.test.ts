/** Pages of a server, through scan, rekey and batch body, into another container of it, and back again. */
import { hashText } from '../../helpers/hash-text.ts';
import { expect, test } from 'vitest';
import { AccountClient } from '../../../bench/account-client.ts';
import type { Signed } from '../../../bench/account-client.ts';
import { BatchBody } from '../../../src/documents/batch-body.ts';
import { allVersionsScan, latestVersionScan, replyScan } from '../../../src/documents/page-scan.ts';
import { makePlan } from '../../../src/keys/plan.ts';
import { Placement } from '../../../src/keys/placement.ts';
import { Deletion, Rekey, rekeyPaths } from '../../../src/keys/rekey.ts';
import { startTestEmulator } from '../../helpers/emulator/emulator.ts';

const DOCUMENTS = [
  '{"id":"plain","tenant":"t","device":"d1","n":9223372036854775807,"m":1.10}',
  '{"id":"no?route#to%this","tenant":"é","device":"\\ud83d\\ude00","__proto__":{"_ts":1},"_own":-0}',
  '{ "id" : "spaced" , "device" : "x\\/y\\"z" , "tenant" : "" }',
  '{"tenant":null,"device":true,"id":"none"}',
];

const BULK = {
  'x-ms-cosmos-is-batch-request': 'true',
  'x-ms-cosmos-batch-atomic': 'false',
  'x-ms-cosmos-batch-continue-on-error': 'true',
  'x-ms-documentdb-partitionkeyrangeid': '0',
  'content-type': 'application/json',
};

test('documents: written as bytes -> read back byte for byte at their new key', async () => {
  await using server = await startTestEmulator({ settings: { avad: true } });
  const client = new AccountClient(server.endpoint, server.key, 1);
  try {
    await client.call({ verb: 'POST', type: 'dbs', link: '' }, { path: '/dbs', body: '{"id":"db"}' }, [201]);
    for (const [name, path] of [
      ['source', '/device'],
      ['target', '/pk'],
    ]) {
      const body = JSON.stringify({ id: name, partitionKey: { paths: [path], kind: 'Hash', version: 2 } });
      const signed: Signed = { verb: 'POST', type: 'colls', link: 'dbs/db' };
      await client.call(signed, { path: '/dbs/db/colls', body }, [201]);
    }
    const docs = (verb: 'GET' | 'POST', container: string): Signed => ({
      verb,
      type: 'docs',
      link: `dbs/db/colls/${container}`,
    });
    const batch = async (container: string, body: Buffer): Promise<Buffer> => {
      const path = `/dbs/db/colls/${container}/docs`;
      const { chunks } = await client.call(docs('POST', container), { path, headers: BULK, body }, [200]);
      return Buffer.concat(chunks);
    };
    const feed = async (container: string, headers: Record<string, string>): Promise<Buffer> => {
      const path = `/dbs/db/colls/${container}/docs`;
      const range = { 'x-ms-documentdb-partitionkeyrangeid': '0' };
      const call = { path, headers: { ...range, ...headers } };
      return Buffer.concat((await client.call(docs('GET', container), call, [200])).chunks);
    };

    const plan = makePlan({
      sourcePaths: ['/device'],
      partitionKey: [],
      derive: ['/pk={tenant|default:none}-{id}'],
      missingKey: 'keep',
    });
    const paths = rekeyPaths(plan);
    const body = new BatchBody();
    const replies = replyScan(paths);
    const statuses = (reply: Buffer): number[] => {
      replies.scan(reply);
      return Array.from({ length: replies.count }, (_, row) =>
        Number(replies.bytes(row, replies.around.statusCode)),
      );
    };

    for (const text of DOCUMENTS) {
      body.create([(JSON.parse(text) as { device: string | boolean }).device]);
      body.out.putText(text);
      body.end();
    }
    expect(statuses(await batch('source', body.finish()))).toEqual([201, 201, 201, 201]);

    // Source page to target, with a note of who went where under which key.
    const source = latestVersionScan(paths);
    source.scan(await feed('source', { 'a-im': 'Incremental Feed' }));
    const rekey = new Rekey(source, { plan, kind: 'hash-v2', ttl: { mode: 'restart' } });
    const moved = new Map<string, { key: readonly unknown[]; target: string }>();
    const keys: Array<Rekey['key']> = [];
    const identities: string[] = [];
    const ids: string[] = [];
    body.clear();
    for (let row = 0; row < source.count; row += 1) {
      expect(rekey.read(row, 0)).toBe('moves');
      body.create(rekey.key);
      const from = body.out.length;
      rekey.write(body.out);
      const target = body.out.view().toString('utf8', from);
      body.end();
      moved.set(`${hashText(rekey.hashes, 0)} in ${hashText(rekey.hashes, 4)}`, { key: rekey.key, target });
      keys.push(rekey.key);
      identities.push(hashText(rekey.hashes, 0));
      ids.push(source.bytes(row, source.nodes.id).toString());
    }
    expect(statuses(await batch('target', body.finish()))).toEqual([201, 201, 201, 201]);

    // Point reads are operations too; what they bring back says whose it is.
    body.clear();
    for (let row = 0; row < source.count; row += 1)
      body.read(keys[row] ?? [], { id: source.bytes(row, source.nodes.id) });
    expect(statuses(await batch('target', body.finish()))).toEqual([200, 200, 200, 200]);
    const placement = new Placement(replies, plan);
    for (let row = 0; row < replies.count; row += 1) {
      placement.read(row);
      const found = moved.get(`${hashText(placement.hashes, 0)} in ${hashText(placement.hashes, 4)}`);
      const text = replies.bytes(row, replies.nodes.document).toString();
      // The server adds its properties at the end and touches nothing else.
      expect(text.startsWith(found?.target.slice(0, -1).trimEnd() ?? '?')).toBe(true);
    }

    // A delete names its document.
    const position = {
      'a-im': 'Full-Fidelity Feed',
      'x-ms-cosmos-changefeed-wire-format-version': '2021-09-15',
    };
    body.clear();
    body.delete(['d1'], { id: 'plain' });
    expect(statuses(await batch('source', body.finish()))).toEqual([204]);
    const changes = allVersionsScan(paths, plan.sourcePaths);
    changes.scan(await feed('source', { ...position, 'if-none-match': '"0;full"' }));
    const last = changes.count - 1;
    const identity = new Uint32Array(4);
    expect(changes.bytes(last, changes.around.operationType).toString()).toBe('"delete"');
    expect(changes.hasDocument(last)).toBe(false);
    expect(new Deletion(changes).read(last, identity, 0)).toBe(true);
    expect(identities).toContain(hashText(identity, 0));
    expect(identities.indexOf(hashText(identity, 0))).toBe(ids.indexOf('"plain"'));
  } finally {
    client.close();
  }
});
