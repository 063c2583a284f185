import { expect, test } from 'vitest';
import { refreshTtl } from '../../../src/documents/ttl.ts';

const OPERATION = '{"resourceBody":{"a":1,"ttl":1000,"b":"é"}}';
const written = { end: OPERATION.indexOf('1000') + 4, digits: 4, endsTs: 5000 };

test.each([
  ['nothing has passed', 4000, OPERATION],
  ['a digit less', 4001, '{"resourceBody":{"a":1,"ttl":999,"b":"é"}} '],
  ['the last second', 4999, '{"resourceBody":{"a":1,"ttl":1,"b":"é"}}   '],
  ['it is over', 5000, '{"resourceBody":{"a":1,"ttl":1,"b":"é"}}   '],
  ['it is long over', 9_000_000, '{"resourceBody":{"a":1,"ttl":1,"b":"é"}}   '],
  ['a clock that was set back', 3000, '{"resourceBody":{"a":1,"ttl":2000,"b":"é"}}'],
  ['a clock that was set back by far', -90_000, OPERATION],
])('ttl refreshed in an operation: %s -> what remains of it', (_name, nowTs, expected) => {
  const text = Buffer.from(OPERATION);
  refreshTtl(text, written, nowTs);
  expect(text.toString()).toBe(expected);
});
