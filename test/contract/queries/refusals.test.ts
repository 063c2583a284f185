/** Each entry of the list in docs/emulator.md of what the emulator does not do is refused by its name. */
// A second argument names the case of a table that has failed.
// oxlint-disable vitest/valid-expect
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { refusalOf, type Headers } from '../../helpers/emulator/raw.ts';
import { type Backend, forEachEmulator } from '../backend.ts';
import { REFUSED_ELSEWHERE, REFUSED_SQL } from './refusals.ts';

interface Case {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  readonly headers?: Headers;
  readonly refusal: string;
  readonly named: RegExp;
}

/** The requests that need the features of the list, by the bold words of each entry. */
function casesIn(database: string, container: string): Readonly<Record<string, readonly Case[]>> {
  const absent = (method: string, path: string, named: RegExp): Case => ({
    method,
    path,
    ...(method === 'POST' && { body: '{"id":"x"}' }),
    refusal: '501/0',
    named,
  });
  const defined = (definition: object, named: RegExp, refusal = '501/0'): Case => ({
    method: 'POST',
    path: `${database}/colls`,
    body: JSON.stringify({ id: 'absent', partitionKey: { paths: ['/pk'] }, ...definition }),
    refusal,
    named,
  });
  const written = (headers: Headers, named: RegExp): Case => ({
    method: 'POST',
    path: `${container}/docs`,
    body: '{"id":"absent","pk":"p"}',
    headers: { 'x-ms-documentdb-partitionkey': '["p"]', ...headers },
    refusal: '501/0',
    named,
  });
  return {
    'Users, permissions and resource tokens': [
      absent('POST', `${database}/users`, /users/i),
      absent('GET', `${database}/users/u/permissions`, /permissions/i),
      {
        method: 'GET',
        path: container,
        headers: { authorization: encodeURIComponent('type=resource&ver=1.0&sig=abc') },
        refusal: '401/0',
        named: /resource/i,
      },
    ],
    'Client encryption keys': [
      absent('POST', `${database}/clientencryptionkeys`, /encryption keys/i),
      defined(
        { clientEncryptionPolicy: { policyFormatVersion: 1, includedPaths: [{ path: '/a' }] } },
        /encryption/i,
      ),
    ],
    'Computed properties': [
      defined(
        { computedProperties: [{ name: 'low', query: 'SELECT VALUE LOWER(c.n) FROM c' }] },
        /computed properties/i,
      ),
    ],
    'materialized views': [
      defined(
        { materializedViewDefinition: { sourceCollectionId: 'x', definition: 'SELECT * FROM c' } },
        /materialized/i,
      ),
    ],
    'data masking': [defined({ dataMaskingPolicy: { includedPaths: [{ path: '/' }] } }, /masking/i)],
    'Containers without a partition key.': [defined({ partitionKey: undefined }, /partition key/, '400/0')],
    Scripts: [
      { ...absent('POST', `${container}/sprocs/s`, /executed/), body: '[]' },
      written({ 'x-ms-documentdb-pre-trigger-include': 's' }, /triggers/i),
      written({ 'x-ms-documentdb-post-trigger-include': 's' }, /triggers/i),
    ],
    Attachments: [
      absent('GET', `${container}/docs/1/attachments`, /attachments/i),
      absent('GET', `${database}/udts`, /user-defined types/i),
    ],
    'Documents that are excluded from the index': [
      written({ 'x-ms-indexing-directive': 'Exclude' }, /index/i),
    ],
  };
}

/** The bold words of the list, and the names that its entry for SQL has. */
function documentedList(): { readonly entries: readonly string[]; readonly sql: readonly string[] } {
  const page = readFileSync('docs/emulator.md', 'utf8');
  const [, section = ''] = page.split('## What it does not do');
  const [list = ''] = section.split('What it keeps without effect');
  const entries = [...list.matchAll(/\*\*([^*]+)\*\*/g)].map(([, name = '']) => name);
  const sql = /\*\*SQL\*\*: ([^]+?)\. The refusal/.exec(list)?.[1] ?? '';
  return { entries, sql: sql.replaceAll(/\s+/g, ' ').split(/, and |, /) };
}

async function refuse(backend: Backend, query: string, named: RegExp): Promise<void> {
  const { wire } = await backend.container();
  const reply = await wire.query(query);
  expect(refusalOf(reply), query).toBe('400/0');
  expect(reply.text, query).toMatch(named);
}

forEachEmulator('what the emulator does not do', (backend) => {
  it('each entry of the list in the documents -> refused by name', async () => {
    const { wire } = await backend.container();
    const cases = casesIn(`/dbs/${backend.lab.databaseId}`, wire.path);
    const known = [...Object.keys(cases), ...Object.keys(REFUSED_ELSEWHERE), 'SQL'];
    expect(new Set(known)).toEqual(new Set(documentedList().entries));
    await backend.raw.send('POST', `${wire.path}/sprocs`, { body: '{"id":"s","body":"function () {}"}' });
    for (const { method, path, body, headers, refusal, named } of Object.values(cases).flat()) {
      const reply = await backend.raw.send(method, path, {
        ...(body && { body }),
        ...(headers && { headers }),
      });
      const what = `${method} ${path} ${body ?? ''}`;
      expect(refusalOf(reply), what).toBe(refusal);
      expect(reply.text, what).toMatch(named);
    }
    expect((await wire.query('SELECT VALUE COUNT(1) FROM c')).text).toContain('[0]');
  });

  it('each query of the list in the documents -> refused by name', async () => {
    expect(Object.keys(REFUSED_SQL)).toEqual(documentedList().sql);
    for (const cases of Object.values({ ...REFUSED_SQL, ...REFUSED_ELSEWHERE })) {
      for (const [query, named] of cases) await refuse(backend, query, named);
    }
  });
});
