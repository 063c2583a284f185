/** Every code of facts SVC-38 to SVC-43, and what we make of it. */
import { describe, expect, test } from 'vitest';
import {
  classifyOperation,
  classifyStatus,
  TroubleError,
  troubleOf,
  troubleWithoutReply,
} from '../../../../src/cosmos/transport/trouble.ts';
import { CutShort } from '../../../../src/cosmos/transport/raw-reply.ts';
import { PageError } from '../../../../src/documents/page-error.ts';

// status, substatus, as a read, as a write, as an operation of a batch that writes
const TABLE = [
  [200, 0, 'done', 'done', 'done'],
  [201, 0, 'done', 'done', 'done'],
  [204, 0, 'done', 'done', 'done'],
  [207, 0, 'done', 'done', 'done'],
  [304, 0, 'done', 'done', 'done'],
  [400, 0, 'fatal', 'fatal', 'fatal'],
  [400, 1001, 'fatal', 'fatal', 'fatal'],
  [400, 1004, 'fatal', 'fatal', 'fatal'],
  [400, 1024, 'fatal', 'fatal', 'fatal'],
  [400, 3205, 'fatal', 'fatal', 'fatal'],
  [401, 0, 'denied', 'denied', 'denied'],
  [403, 0, 'denied', 'denied', 'denied'],
  [403, 3, 'denied', 'denied', 'denied'],
  [403, 1008, 'denied', 'denied', 'denied'],
  [403, 1014, 'too-large', 'too-large', 'too-large'],
  [403, 1028, 'denied', 'denied', 'denied'],
  [403, 5300, 'denied', 'denied', 'denied'],
  [404, 0, 'fatal', 'fatal', 'missing'],
  [404, 1002, 'transient', 'transient', 'transient'],
  [404, 1003, 'transient', 'transient', 'transient'],
  [404, 1013, 'transient', 'transient', 'transient'],
  [405, 0, 'fatal', 'fatal', 'fatal'],
  [408, 0, 'transient', 'ambiguous', 'ambiguous'],
  [409, 0, 'conflict', 'conflict', 'conflict'],
  [409, 3302, 'conflict', 'conflict', 'conflict'],
  [410, 0, 'split', 'split', 'split'],
  [410, 1000, 'split', 'split', 'split'],
  [410, 1002, 'split', 'split', 'split'],
  [410, 1007, 'split', 'split', 'split'],
  [410, 1008, 'split', 'split', 'split'],
  [410, 1022, 'split', 'split', 'split'],
  [412, 0, 'conflict', 'conflict', 'conflict'],
  [413, 0, 'too-large', 'too-large', 'too-large'],
  [413, 3402, 'too-large', 'too-large', 'too-large'],
  [424, 0, 'transient', 'transient', 'transient'],
  [429, 0, 'throttled', 'throttled', 'throttled'],
  [429, 3088, 'throttled', 'throttled', 'throttled'],
  [429, 3092, 'throttled', 'throttled', 'throttled'],
  [429, 3200, 'throttled', 'throttled', 'throttled'],
  [429, 3201, 'throttled', 'throttled', 'throttled'],
  [429, 3207, 'throttled', 'throttled', 'throttled'],
  [429, 3212, 'throttled', 'throttled', 'throttled'],
  [429, 3213, 'throttled', 'throttled', 'throttled'],
  [449, 0, 'transient', 'transient', 'transient'],
  [500, 0, 'transient', 'ambiguous', 'ambiguous'],
  [502, 0, 'transient', 'ambiguous', 'ambiguous'],
  [503, 0, 'transient', 'ambiguous', 'ambiguous'],
  [503, 20001, 'transient', 'ambiguous', 'ambiguous'],
  [503, 21001, 'transient', 'ambiguous', 'ambiguous'],
  [503, 21003, 'transient', 'ambiguous', 'ambiguous'],
  [503, 21004, 'transient', 'ambiguous', 'ambiguous'],
  [504, 0, 'transient', 'ambiguous', 'ambiguous'],
] as const;

test.each(TABLE)(
  '%i/%i -> a read is %s, a write %s, an operation %s',
  (status, substatus, read, write, op) => {
    expect(classifyStatus(status, substatus, 'read')).toBe(read);
    expect(classifyStatus(status, substatus, 'write')).toBe(write);
    expect(classifyOperation(status, substatus, 'write')).toBe(op);
  },
);

describe('without a reply', () => {
  const coded = (code: string): Error => Object.assign(new Error(code), { code });
  const named = (name: string): Error => Object.assign(new Error(name), { name });
  // cause, whether a byte may have left, as a read, as a write
  test.each([
    [coded('ECONNREFUSED'), true, 'transient', 'transient'],
    [coded('ENOTFOUND'), true, 'transient', 'transient'],
    [coded('EAI_AGAIN'), true, 'transient', 'transient'],
    [coded('ECONNRESET'), true, 'transient', 'ambiguous'],
    [coded('EPIPE'), true, 'transient', 'ambiguous'],
    [coded('ETIMEDOUT'), true, 'transient', 'ambiguous'],
    [coded('REQUEST_SEND_ERROR'), true, 'transient', 'ambiguous'],
    [new CutShort(), true, 'transient', 'ambiguous'],
    [new Error('whatever'), true, 'transient', 'ambiguous'],
    ['no error at all', true, 'transient', 'ambiguous'],
    [coded('CERT_HAS_EXPIRED'), true, 'fatal', 'fatal'],
    [coded('DEPTH_ZERO_SELF_SIGNED_CERT'), true, 'fatal', 'fatal'],
    [coded('UNABLE_TO_VERIFY_LEAF_SIGNATURE'), true, 'fatal', 'fatal'],
    [coded('ERR_TLS_CERT_ALTNAME_INVALID'), true, 'fatal', 'fatal'],
    [named('CredentialUnavailableError'), false, 'denied', 'denied'],
    [named('AuthenticationError'), false, 'denied', 'denied'],
    [coded('ECONNRESET'), false, 'transient', 'transient'],
  ] as const)('%s, sent: %s -> a read is %s, a write %s', (cause, sent, read, write) => {
    expect(troubleWithoutReply(cause, { sent, access: 'read' }).kind).toBe(read);
    expect(troubleWithoutReply(cause, { sent, access: 'write' }).kind).toBe(write);
  });
});

test('TroubleError: not handled -> exit code 6, with what happened and what to do', () => {
  const error = new TroubleError({
    kind: 'denied',
    status: 403,
    substatus: 3,
    what: 'the service answered 403/3',
    chargeRu: 0,
    activityId: 'a-1',
  });
  expect(error).toMatchObject({ code: 'service', exitCode: 6, message: 'the service answered 403/3' });
  expect(error.hint).toContain('endpoint of the write region');
  expect(error.details).toEqual({ kind: 'denied', status: 403, substatus: 3, activityId: 'a-1' });
});

test.each([
  [3200, 'more RU/s than the container has', 'give the container more RU/s'],
  [3212, 'default throughput bucket', 'raise the share of the default bucket'],
])(
  'TroubleError: 429/%d for too long -> the reason and the hint name what is used up',
  (substatus, why, hint) => {
    const what = `the service answered 429/${substatus}`;
    const error = new TroubleError({ kind: 'throttled', status: 429, substatus, what, chargeRu: 0 });
    expect(error.why).toContain(why);
    expect(error.hint).toContain(hint);
  },
);

test('troubleOf: a damaged page -> transient; another error -> no trouble', () => {
  expect(troubleOf(new PageError('it ends in the middle', 7))?.kind).toBe('transient');
  expect(troubleOf(new TypeError('ours'))).toBeUndefined();
});
