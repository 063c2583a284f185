import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findRoute, signedResource } from '../../../../src/emulator/http/routes.ts';
import { refusalOf } from '../../../helpers/emulator/memory-account.ts';
import { draws } from '../../../helpers/generated.ts';
import '../../../helpers/seed.ts';

const segmentsOf = (path: string): string[] => path.split('/').filter((step) => step !== '');

describe('a request is counted as', () => {
  test.each<[string, string, Record<string, string>]>([
    ['account', 'GET /', {}],
    ['database', 'GET /dbs', {}],
    ['database', 'POST /dbs', {}],
    ['database', 'POST /dbs', { 'x-ms-documentdb-isquery': 'True' }],
    ['database', 'DELETE /dbs/D', {}],
    ['container', 'POST /dbs/D/colls', {}],
    ['container', 'PUT /dbs/D/colls/C', {}],
    ['container', 'GET /dbs/D/colls/C/conflicts', {}],
    ['pkranges', 'GET /dbs/D/colls/C/pkranges', {}],
    ['read-feed', 'GET /dbs/D/colls/C/docs', {}],
    ['create', 'POST /dbs/D/colls/C/docs', {}],
    ['create', 'POST /dbs/D/colls/C/docs', { 'x-ms-documentdb-is-upsert': 'false' }],
    ['upsert', 'POST /dbs/D/colls/C/docs', { 'x-ms-documentdb-is-upsert': 'true' }],
    ['query', 'POST /dbs/D/colls/C/docs', { 'x-ms-documentdb-isquery': 'true' }],
    ['query', 'POST /dbs/D/colls/C/docs', { 'x-ms-cosmos-is-query-plan-request': 'True' }],
    ['batch', 'POST /dbs/D/colls/C/docs', { 'x-ms-cosmos-is-batch-request': 'true' }],
    [
      'batch',
      'POST /dbs/D/colls/C/docs',
      { 'x-ms-cosmos-is-batch-request': 'True', 'x-ms-cosmos-batch-atomic': 'True' },
    ],
    ['read', 'GET /dbs/D/colls/C/docs/I', {}],
    ['replace', 'PUT /dbs/D/colls/C/docs/I', {}],
    ['patch', 'PATCH /dbs/D/colls/C/docs/I', {}],
    ['delete', 'DELETE /dbs/D/colls/C/docs/I', {}],
    ['delete', 'POST /dbs/D/colls/C/operations/partitionkeydelete', {}],
    ['script', 'POST /dbs/D/colls/C/sprocs', {}],
    ['script', 'POST /dbs/D/colls/C/sprocs/S', {}],
    ['script', 'PUT /dbs/D/colls/C/triggers/T', {}],
    ['script', 'DELETE /dbs/D/colls/C/udfs/U', {}],
    ['offer', 'GET /offers/abcd', {}],
    ['offer', 'POST /offers', { 'x-ms-documentdb-isquery': 'true' }],
    ['admin', 'GET /_emulator/state', {}],
    ['admin', 'POST /_emulator/containers/D/C/split', {}],
    ['admin', 'PUT /_emulator/clock', {}],
  ])('%s <- %s %j', (op, request, headers) => {
    const [method = '', path = ''] = request.split(' ');
    expect(findRoute(method, segmentsOf(path), headers).op).toBe(op);
  });
});

test('a name that is a word of the protocol -> a name', () => {
  const words = [
    'dbs',
    'colls',
    'docs',
    'offers',
    'pkranges',
    '_emulator',
    'state',
    'operations',
    '*',
    'split',
    'partitionkeydelete',
    'constructor',
    '__proto__',
  ];
  for (const db of words) {
    expect(findRoute('GET', ['dbs', db], {}).op).toBe('database');
    for (const coll of words) {
      expect(findRoute('GET', ['dbs', db, 'colls', coll], {}).op).toBe('container');
      expect(findRoute('GET', ['dbs', db, 'colls', coll, 'docs', db], {}).op).toBe('read');
      expect(findRoute('POST', ['_emulator', 'containers', db, coll, 'merge'], {}).op).toBe('admin');
    }
  }
});

test.each<[number, string, string]>([
  [404, 'GET', '/nothing'],
  [404, 'GET', '/*'],
  [404, 'GET', '/dbs/D/tables'],
  [404, 'GET', '/dbs/D/*'],
  [400, 'PUT', '/offers/offers/1000'],
  [501, 'GET', '/dbs/D/colls/C/docs/I/attachments'],
  [501, 'POST', '/dbs/D/users'],
  [404, 'GET', '/_emulator/containers/users'],
  [404, 'GET', '/_emulator'],
  [404, 'GET', '/_emulator/constructor'],
  [405, 'POST', '/'],
  [405, 'PATCH', '/dbs'],
  [405, 'PUT', '/dbs/D'],
  [405, 'POST', '/dbs/D'],
  [405, 'DELETE', '/dbs/D/colls'],
  [405, 'PUT', '/dbs/D/colls/C/docs'],
  [405, 'POST', '/dbs/D/colls/C/docs/I'],
  [405, 'OPTIONS', '/dbs'],
  [405, 'GET', '/dbs/D/colls/C/operations/partitionkeydelete'],
  [405, 'PUT', '/_emulator/state'],
  [405, 'POST', '/offers'],
])('routes: status %i <- %s %s', (status, method, path) => {
  expect(refusalOf(() => findRoute(method, segmentsOf(path), {}))?.status).toBe(status);
});

test('any request -> a route, or refused as unknown, as not allowed or by name', () => {
  const step = fc.oneof(
    fc.constantFrom(
      'dbs',
      'colls',
      'docs',
      '_emulator',
      'containers',
      'offers',
      '*',
      'constructor',
      '__proto__',
      'toString',
      '',
    ),
    fc.string(),
  );
  const method = fc.oneof(
    fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'constructor', ''),
    fc.string(),
  );
  fc.assert(
    fc.property(method, fc.array(step, { maxLength: 8 }), (name, segments) => {
      expect([undefined, 400, 404, 405, 501]).toContain(
        refusalOf(() => findRoute(name, segments, { 'x-ms-documentdb-isquery': 'true' }))?.status,
      );
      expect(typeof signedResource(segments).resourceId).toBe('string');
    }),
    { numRuns: draws(1000) },
  );
});

describe('a signature covers', () => {
  test.each<[string, string, string]>([
    ['/', '', ''],
    ['/dbs', 'dbs', ''],
    ['/dbs/D', 'dbs', 'dbs/D'],
    ['/dbs/D/colls', 'colls', 'dbs/D'],
    ['/dbs/D/colls/C', 'colls', 'dbs/D/colls/C'],
    ['/dbs/D/colls/C/pkranges', 'pkranges', 'dbs/D/colls/C'],
    ['/dbs/D/colls/C/docs', 'docs', 'dbs/D/colls/C'],
    ['/dbs/D/colls/C/docs/I', 'docs', 'dbs/D/colls/C/docs/I'],
    ['/dbs/D/colls/C/sprocs/S', 'sprocs', 'dbs/D/colls/C/sprocs/S'],
    ['/dbs/D/colls/C/operations/partitionkeydelete', 'colls', 'dbs/D/colls/C'],
    ['/offers', 'offers', ''],
    ['/offers/AbCd', 'offers', 'abcd'],
  ])('%s -> type %j, resource %j', (path, resourceType, resourceId) => {
    expect(signedResource(segmentsOf(path))).toEqual({ resourceType, resourceId });
  });
});
