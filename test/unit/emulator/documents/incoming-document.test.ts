import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DOCUMENT_BYTES_MAX, receive } from '../../../../src/emulator/documents/incoming-document.ts';
import type { KeyComponent } from '../../../../src/epk/effective-key.ts';
import { MemoryAccount, refusalOf } from '../../../helpers/emulator/memory-account.ts';
import { framed } from '../../../helpers/written-json.ts';
import '../../../helpers/seed.ts';

using shared = new MemoryAccount();
const CONTAINER = shared.container();

function openTextOf(text: string, key: readonly KeyComponent[] = ['k'], memory = shared): string {
  return receive(memory.account, memory === shared ? CONTAINER : memory.container(), text, key).openText;
}

describe('an incoming document', () => {
  test.each([
    ['{"id":"a","pk":"k"}', '{"id":"a","pk":"k"'],
    [' \n{ "id" : "a" , "pk":"k" } \n', '{ "id" : "a" , "pk":"k" '],
    [
      '{"id":"a","pk":"k","n":9223372036854775807,"m":1.10,"z":-0}',
      '{"id":"a","pk":"k","n":9223372036854775807,"m":1.10,"z":-0',
    ],
    [
      '{"\\u0069d":"\\u0061","pk":"k","__proto__":{"a":1}}',
      '{"\\u0069d":"\\u0061","pk":"k","__proto__":{"a":1}',
    ],
    [
      '{"_rid":"x","id":"a","_ts":1,"pk":"k","_etag":"e","_self":"s","_attachments":"t"}',
      '{"id":"a","pk":"k"',
    ],
    ['{"id":"a","\\u005fts":1,"pk":"k"}', '{"id":"a","pk":"k"'],
    ['{"id":"a","pk":"k","o":{"_ts":1}}', '{"id":"a","pk":"k","o":{"_ts":1}'],
    ['{"id":"a","id":"b","pk":"x","pk":"k"}', '{"id":"a","id":"b","pk":"x","pk":"k"'],
    ['{"id":"a","pk":"k","_lsn":5}', '{"id":"a","pk":"k","_lsn":5'],
  ])('%s -> kept as %s', (text, openText) => {
    expect(openTextOf(text)).toBe(openText);
  });

  test('any members besides id and key -> text kept, valid JSON with more members after it', () => {
    fc.assert(
      fc.property(framed, framed, (before, after) => {
        const text = `{"before":${before.text},"id":"a","pk":"k","_ts":1,"after":${after.text}}`;
        const openText = openTextOf(text);
        expect(openText).toBe(text.replace('"_ts":1,"after"', '"after"').slice(0, -1));
        expect(JSON.parse(`${openText},"_ts":2}`)).toEqual({ ...(JSON.parse(text) as object), _ts: 2 });
      }),
    );
  });

  test('numbers: service -> numbers are normalized', () => {
    using memory = new MemoryAccount({ numbers: 'service' });
    expect(openTextOf('{"id":"a","pk":1.0,"n":[-0,1.10,9223372036854775807]}', [1], memory)).toBe(
      '{"id":"a","pk":1,"n":[0,1.1,9223372036854775807]',
    );
  });

  test.each<[string, readonly KeyComponent[]]>([
    ['{"id":"a","pk":null}', [null]],
    ['{"id":"a"}', [undefined]],
    ['{"id":"a","pk":-0}', [0]],
    ['{"id":"a","pk":1.0}', [1]],
    ['{"id":"a","pk":"\\u006b"}', ['k']],
    ['{"id":"a","pk":"\\ud800"}', ['\ud800']],
  ])('%s -> the key %j', (text, key) => {
    expect(refusalOf(() => openTextOf(text, key))).toBeUndefined();
  });

  test.each<[string, readonly KeyComponent[]]>([
    ['{"id":"a","pk":"k"}', ['x']],
    ['{"id":"a","pk":"1"}', [1]],
    ['{"id":"a"}', [null]],
    ['{"id":"a","pk":null}', [undefined]],
    ['{"id":"a","pk":"k"}', []],
    ['{"id":"a","pk":"k"}', ['k', 'k']],
  ])('%s under the key %j -> 400/1001', (text, key) => {
    expect(refusalOf(() => openTextOf(text, key))).toEqual({ status: 400, substatus: 1001 });
  });

  test.each([
    '', '{', 'null', '1', '"x"', '[]', '[{"id":"a"}]', '{"pk":"k"}', '{"id":1,"pk":"k"}', '{"id":null,"pk":"k"}', '{"id":"","pk":"k"}',
    '{"id":"a/b","pk":"k"}', '{"id":"a\\\\b","pk":"k"}', '{"id":"a\\u002fb","pk":"k"}', '{"id":"a","pk":["k"]}', '{"id":"a","pk":{}}',
    '{"id":"a","pk":"k","ttl":0}', '{"id":"a","pk":"k","ttl":null}', '{"__proto__":{"id":"a"},"pk":"k"}', '\ufeff{"id":"a","pk":"k"}',
  ])('%s -> refused', (text) => {
    expect(refusalOf(() => openTextOf(text))?.status).toBe(400);
  }); // prettier-ignore
});

describe('limits', () => {
  const nested = (levels: number): string =>
    `{"id":"a","pk":"k","v":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
  const sized = (bytes: number, unit = 'x'): string => {
    const frame = '{"id":"a","pk":"k","v":""}';
    return `${frame.slice(0, -2)}${unit.repeat((bytes - frame.length) / Buffer.byteLength(unit))}"}`;
  };
  const withId = (id: string): string => JSON.stringify({ id, pk: 'k' });

  test.each<[string, string, number | undefined]>([
    ['128 levels', nested(128), undefined],
    ['129 levels', nested(129), 400],
    ['100,000 levels', nested(100_000), 400],
    ['2 MB', sized(DOCUMENT_BYTES_MAX), undefined],
    ['2 MB and a byte', sized(DOCUMENT_BYTES_MAX + 1), 413],
    ['2 MB and two bytes in UTF-8 only', sized(DOCUMENT_BYTES_MAX + 2, 'é'), 413],
    ['an id of 1,023 bytes', withId('x'.repeat(1023)), undefined],
    ['an id of 1,024 bytes', withId('x'.repeat(1024)), 400],
    ['an id of 341 characters, 1,023 bytes', withId('日'.repeat(341)), undefined],
    ['an id of 342 characters, 1,026 bytes', withId('日'.repeat(342)), 400],
  ])('%s -> status %s', (_what, text, status) => {
    expect(refusalOf(() => openTextOf(text))?.status).toBe(status);
  });

  test.each<[string, number | undefined]>([
    ['x'.repeat(2048), undefined],
    ['x'.repeat(2049), 400],
    ['é'.repeat(1024), undefined],
    ['é'.repeat(1025), 400],
  ])('a key at or beyond 2,048 bytes, row %# -> accepted or refused', (key, status) => {
    expect(refusalOf(() => openTextOf(JSON.stringify({ id: 'a', pk: key }), [key]))?.status).toBe(status);
  });
});
