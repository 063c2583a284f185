import { expect, test } from 'vitest';
import { currentCandidate, parseCandidate, planOf } from '../../../../src/plan/candidates/candidate.ts';
import { Observation } from '../../../../src/plan/observe/observation.ts';

const SOURCE = ['tenant'];

function observation(...texts: string[]): Observation {
  const candidates = [currentCandidate(['/tenant']), ...texts.map(parseCandidate)].map((candidate) => ({
    plan: planOf(candidate, ['/tenant']),
    kind: candidate.paths.length > 1 ? ('multi-hash' as const) : ('hash-v2' as const),
    show: (values: readonly unknown[]) => values.join(', '),
  }));
  return new Observation(candidates, [SOURCE]);
}

interface Change {
  readonly id: string;
  readonly tenant: string;
  readonly user: string;
  readonly lsn: number;
}

function page(...changes: readonly Change[]): Buffer {
  const documents = changes.map(({ lsn, ...document }) => ({ ...document, _ts: 1_790_000_000, _lsn: lsn }));
  return Buffer.from(JSON.stringify({ _rid: 'x', Documents: documents, _count: documents.length }));
}

test('writes -> the hottest value of each candidate, its writes and its RU a second', () => {
  const observed = observation('/user');
  observed.take(
    page(
      ...Array.from({ length: 8 }, (_none, n) => ({
        id: `${n}`,
        tenant: 'T',
        user: n < 6 ? 'hot' : `u${n}`,
        lsn: n,
      })),
    ),
  );
  const [present, user] = observed.figures(2, 10);
  expect(observed.writes).toBe(8);
  expect(present?.hottest).toEqual({ value: 'T', writesPerSecond: 4, ruPerSecond: 40 });
  expect(user?.hottest).toEqual({ value: 'hot', writesPerSecond: 3, ruPerSecond: 30 });
});

test('updates -> the share that changes the value of a candidate', () => {
  const observed = observation('/user');
  observed.take(
    page({ id: '1', tenant: 'T', user: 'a', lsn: 1 }, { id: '2', tenant: 'T', user: 'b', lsn: 2 }),
  );
  observed.take(
    page({ id: '1', tenant: 'T', user: 'a', lsn: 3 }, { id: '2', tenant: 'T', user: 'c', lsn: 4 }),
  );
  observed.take(
    page({ id: '2', tenant: 'T', user: 'c', lsn: 5 }, { id: '1', tenant: 'U', user: 'a', lsn: 6 }),
  );
  expect(observed.updates).toBe(3);
  expect(observed.figures(1, 1).map(({ movesShare }) => movesShare)).toEqual([0, 1 / 3]);
});

test('batches -> those whose documents would no longer share a key', () => {
  const observed = observation('/user', '/tenant,/user');
  observed.take(
    page(
      { id: '1', tenant: 'T', user: 'a', lsn: 1 },
      { id: '2', tenant: 'T', user: 'b', lsn: 1 },
      { id: '3', tenant: 'T', user: 'a', lsn: 2 },
      { id: '4', tenant: 'T', user: 'a', lsn: 2 },
      { id: '5', tenant: 'T', user: 'a', lsn: 3 },
      // The same LSN by chance, as in another range: not the same key, so not a batch.
      { id: '6', tenant: 'U', user: 'a', lsn: 3 },
    ),
  );
  const [present, user, both] = observed.figures(1, 1).map(({ brokenBatches }) => brokenBatches);
  expect(present).toEqual({ broken: 0, seen: 2 });
  expect(user).toEqual({ broken: 1, seen: 2 });
  expect(both).toEqual({ broken: 1, seen: 2 });
});

test('nothing was written -> nothing is hot', () => {
  const observed = observation('/user');
  observed.take(page());
  expect(observed.figures(60, 10)[1]).toEqual({
    hottest: null,
    movesShare: 0,
    brokenBatches: { broken: 0, seen: 0 },
  });
});
