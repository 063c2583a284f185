/** Batches against a server in trouble: what surely did not happen, what may have, and what did, operation by operation. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { TroubleKind } from '../../../src/cosmos/transport/trouble.ts';
import type { BatchResult, OperationReply } from '../../../src/cosmos/bulk/batch-request.ts';
import { replyScan } from '../../../src/documents/page-scan.ts';
import type { FaultEffect } from '../../helpers/emulator/admin.ts';
import { ContainerLab, type Op } from '../../helpers/emulator/container-requests.ts';

let lab: ContainerLab;
beforeEach(async () => {
  lab = await ContainerLab.open();
});
afterEach(async () => {
  await lab[Symbol.asyncDispose]();
});

const create = (id: string): Op => ({ do: 'create', key: ['a'], text: `{"id":"${id}","pk":"a"}` });
const read = (id: string): Op => ({ do: 'read', key: ['a'], id });

function outcomesOf(result: BatchResult): readonly OperationReply[] {
  if (!result.answered) throw new Error(result.trouble.what);
  return result.outcomes;
}

const kinds = (result: BatchResult): string[] =>
  outcomesOf(result).map(({ kind, status }) => `${kind} ${status}`);

async function exists(id: string): Promise<boolean> {
  return outcomesOf(await lab.send([read(id)]))[0]?.kind === 'done';
}

describe('a batch: each operation has its outcome', () => {
  test('creates, replaces, reads and deletes with conditions -> an outcome each', async () => {
    const first = await lab.send([create('x'), create('x'), read('x'), read('unknown')]);
    expect(kinds(first)).toEqual(['done 201', 'conflict 409', 'done 200', 'missing 404']);
    const etag = outcomesOf(first)[2]?.etag;
    expect(etag).toMatch(/^".+"$/);
    const second = await lab.send([
      { do: 'replace', key: ['a'], id: 'x', ifMatch: '"old"', text: '{"id":"x","pk":"a","n":1}' },
      { do: 'replace', key: ['a'], id: 'x', ifMatch: etag ?? '', text: '{"id":"x","pk":"a","n":2}' },
      { do: 'delete', key: ['a'], id: 'x', ifMatch: etag ?? '' },
      { do: 'delete', key: ['a'], id: 'x' },
      { do: 'delete', key: ['a'], id: 'x' },
    ]);
    expect(kinds(second)).toEqual(['conflict 412', 'done 200', 'conflict 412', 'done 204', 'missing 404']);
  });

  test('charges -> exact, for each read and for the batch, with the session token', async () => {
    const written = await lab.send([create('x'), create('y')]);
    if (!written.answered) throw new Error(written.trouble.what);
    expect(written.chargeRu % 1).toBeGreaterThan(0);
    const result = await lab.send([read('x'), read('unknown')]);
    if (!result.answered) throw new Error(result.trouble.what);
    const each = result.outcomes.map(({ chargeRu }) => chargeRu);
    expect(each.every((charge) => charge > 0)).toBe(true);
    expect(result.chargeRu).toBeCloseTo(
      each.reduce((a, b) => a + b, 0),
      1,
    );
    expect(result.sessionToken).toMatch(/^0:/);
  });

  test('reads -> the documents are in the bytes', async () => {
    await lab.send([{ do: 'create', key: ['a'], text: '{"id":"x","pk":"a","l":9223372036854775807}' }]);
    const result = await lab.send([read('x')]);
    if (!result.answered) throw new Error(result.trouble.what);
    const scan = replyScan([]).scan(result.bytes);
    expect(scan.bytes(0, scan.nodes.document).toString()).toContain('"l":9223372036854775807');
  });

  test('too large, or another key than the document -> its outcome says so', async () => {
    const big = `{"id":"big","pk":"a","t":"${'x'.repeat(2_200_000)}"}`;
    const wrong: Op = { do: 'create', key: ['b'], text: '{"id":"x","pk":"a"}' };
    expect(kinds(await lab.send([wrong]))).toEqual(['fatal 400']);
    const result = await lab.send([{ do: 'create', key: ['a'], text: big }]);
    const kind = result.answered ? result.outcomes[0]?.kind : result.trouble.kind;
    expect(kind).toBe('too-large');
  });

  test('one operation is throttled -> its hint is returned, and the others are done', async () => {
    await lab.admin.faults([
      {
        match: { op: 'create' },
        after: 1,
        times: 1,
        effect: { status: 429, substatus: 3200, retryAfterMs: 77 },
      },
    ]);
    const outcomes = outcomesOf(await lab.send([create('x'), create('y'), create('z')]));
    expect(outcomes.map(({ kind }) => kind)).toEqual(['done', 'throttled', 'done']);
    expect(outcomes[1]).toMatchObject({ status: 429, substatus: 3200, retryAfterMs: 77 });
  });

  test('a full partition, a concurrent write, a timeout -> the outcome of that operation only', async () => {
    const refuse = (status: number, substatus = 0) =>
      ({ match: { op: 'create' }, times: 1, effect: { status, substatus } }) as const;
    await lab.admin.faults([refuse(403, 1014), refuse(449), refuse(408), refuse(503)]);
    const ops = ['a', 'b', 'c', 'd', 'e'].map(create);
    expect(kinds(await lab.send(ops))).toEqual([
      'too-large 403',
      'transient 449',
      'ambiguous 408',
      'ambiguous 503',
      'done 201',
    ]);
  });
});

// One that the SDK makes and signs, and one that is sent with the signature of another (signed-requests.ts).
describe.each([{ before: 0 }, { before: 1 }])(
  'a whole batch fails in one way, after $before others',
  ({ before }) => {
    const sendOthers = async (to: ContainerLab): Promise<void> => {
      for (let i = 0; i < before; i += 1)
        expect(await to.send([create(`before-${i}`)])).toMatchObject({ answered: true });
    };

    // What happens to the request, what it is called, whether the write was done all the same
    const TABLE: ReadonlyArray<readonly [FaultEffect, TroubleKind, boolean]> = [
      [{ status: 429, substatus: 3200, retryAfterMs: 5 }, 'throttled', false],
      [{ status: 429, body: 'truncated' }, 'throttled', false],
      [{ status: 410, substatus: 1002 }, 'split', false],
      [{ status: 410, substatus: 1007 }, 'split', false],
      [{ status: 410, substatus: 1008 }, 'split', false],
      [{ status: 410, substatus: 1000 }, 'split', false],
      [{ status: 410 }, 'split', false],
      [{ status: 403, substatus: 3 }, 'denied', false],
      [{ status: 404 }, 'fatal', false],
      [{ status: 413 }, 'too-large', false],
      [{ status: 449 }, 'transient', false],
      [{ status: 408 }, 'ambiguous', false],
      [{ status: 500 }, 'ambiguous', false],
      [{ status: 503 }, 'ambiguous', false],
      [{ status: 502, body: 'html' }, 'ambiguous', false],
      [{ status: 503, body: 'empty' }, 'ambiguous', false],
      [{ reset: 'before' }, 'ambiguous', false],
      [{ reset: 'after' }, 'ambiguous', true],
      [{ hang: 'before' }, 'ambiguous', false],
      [{ hang: 'after' }, 'ambiguous', true],
      [{ body: 'truncated' }, 'ambiguous', true],
      [{ body: 'html' }, 'ambiguous', true],
      [{ body: 'empty' }, 'ambiguous', true],
      [{ delayMs: 20_000, delayAt: 'reply' }, 'ambiguous', true],
    ];

    test.each(TABLE)('%o -> %s, sent once; done all the same: %s', async (effect, kind, done) => {
      await sendOthers(lab);
      await lab.admin.faults([{ match: { op: 'batch' }, times: 1, effect }]);
      // Only a caller that is kept waiting gives up: a busy machine must not look like a hung server.
      const waits = effect.hang !== undefined || effect.delayMs !== undefined;
      const result = await lab.send([create('x'), create('y')], { timeoutMs: waits ? 300 : 20_000 });
      const hint = effect.retryAfterMs === undefined ? {} : { retryAfterMs: effect.retryAfterMs };
      expect(result).toMatchObject({ answered: false, trouble: { kind, ...hint } });
      const { faults } = (await lab.admin.state()) as { faults: { rules: { matched: number }[] } };
      expect(faults.rules[0]?.matched).toBe(1);
      expect(await exists('x')).toBe(done);
    });

    const refused = async (times: number): Promise<{ result: BatchResult; requests: number }> => {
      await sendOthers(lab);
      await lab.admin.faults([{ match: { op: 'batch' }, times, effect: { status: 401 } }]);
      const result = await lab.send([create('x'), create('y')]);
      const { faults } = (await lab.admin.state()) as { faults: { rules: { matched: number }[] } };
      await lab.admin.clearFaults();
      return { result, requests: faults.rules[0]?.matched ?? 0 };
    };

    test('401, however often -> denied; only a signature that was used before is replaced, once', async () => {
      const { result, requests } = await refused(9);
      expect(result).toMatchObject({ answered: false, trouble: { kind: 'denied' } });
      expect(requests).toBe(before === 0 ? 1 : 2);
      expect(await exists('x')).toBe(false);
    });

    test('401 once -> denied; sent again and done if its signature was used before', async () => {
      const { result } = await refused(1);
      expect(result).toMatchObject({ answered: before > 0 });
      expect(await exists('x')).toBe(before > 0);
    });

    test('no server -> certainly nothing happened', async () => {
      await using gone = await ContainerLab.open();
      await sendOthers(gone);
      await gone.close();
      // A socket that was open may have carried it, unless its end has arrived; one that could not be opened has not.
      const kindOf = async (): Promise<unknown> => {
        const result = await gone.send([create('x')]);
        return result.answered || result.trouble.kind;
      };
      // Both the SDK and our own transport have had a socket.
      for (let socket = 0; socket < 2; socket += 1)
        expect(['ambiguous', 'transient']).toContain(await kindOf());
      expect(await kindOf()).toBe('transient');
    });

    test('a split -> reported as one, and the batch works on a child', async () => {
      await sendOthers(lab);
      await lab.split();
      expect(await lab.send([create('x')])).toMatchObject({
        answered: false,
        trouble: { kind: 'split', status: 410 },
      });
    });

    test('fewer outcomes than operations -> all are ambiguous', async () => {
      await sendOthers(lab);
      const ops = [create('x'), create('y')];
      const result = await lab.send(ops, { claimed: 3 });
      expect(result).toMatchObject({ answered: false, trouble: { kind: 'ambiguous', status: 200 } });
    });

    test('an abort -> throws the given reason', async () => {
      await sendOthers(lab);
      await lab.admin.faults([{ match: { op: 'batch' }, effect: { hang: 'before' } }]);
      const stop = new AbortController();
      const sending = lab.send([create('x')], { signal: stop.signal });
      setTimeout(() => stop.abort(new Error('enough')), 50);
      await expect(sending).rejects.toThrow('enough');
      expect(lab.account.transport.size).toBe(0);
    });
  },
);

test('a read with the token of a write, or of a refused write -> no replica that lags answers', async () => {
  await lab.admin.account({ replicaLagMs: 60_000 });
  await lab.send([create('x')]);
  expect(await exists('x')).toBe(false);
  // Bound to be refused: no document has this etag. The primary answers with how far it is.
  const fence = await lab.send([{ do: 'delete', key: ['a'], id: 'x', ifMatch: '"unknown"' }]);
  if (!fence.answered || fence.sessionToken === undefined) throw new Error('expected a token');
  expect(kinds(fence)).toEqual(['conflict 412']);
  const seen = await lab.send([read('x')], { sessionToken: fence.sessionToken });
  expect(kinds(seen)).toEqual(['done 200']);
});
