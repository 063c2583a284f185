import { expect, test } from 'vitest';
import { errorForVerdict } from '../../../src/report/verify-error.ts';
import { VERDICT } from './verdict.ts';

test('verify error: differences after the commit -> points to the other direction, if there is a way back', () => {
  const differences = { missing: 1, extra: 0, different: 0, wrongSlot: 0 };
  const verdict = { ...VERDICT, level: 'digest', equal: false, differences } as const;
  for (const found of [verdict, { ...verdict, equal: null, inFlight: 1 } as const]) {
    expect(errorForVerdict(found, () => 'reverse')?.hint).toContain('cosmig verify --reverse compares both');
    const without = errorForVerdict(found, () => 'none')?.hint;
    expect(without).toContain('there is no way back');
    expect(without).toContain(
      'run cosmig cutover again: it names what another process has written to the source',
    );
    const later = errorForVerdict(found, () => 'none, long since')?.hint;
    expect(later).toContain('look in the source for documents with a _ts later than the commit');
    expect(later).not.toContain('cosmig cutover');
    expect(without).not.toContain('--reverse');
  }
});

test.each(['reverse', 'none', 'none, long since'] as const)(
  'verify error: undecided documents, %s replicates -> not called in flight',
  (replicator) => {
    const verdict = { ...VERDICT, level: 'digest', inFlight: 2, waitsFor: 'changes' } as const;
    const since = 'since the commit nothing replicates what is written to the source';
    expect(errorForVerdict({ ...verdict, equal: null, inFlight: 1 }, () => replicator)?.why).toBe(
      `1 document differs, and ${since}`,
    );
    const differences = { missing: 1, extra: 0, different: 0, wrongSlot: 0 };
    expect(errorForVerdict({ ...verdict, equal: false, differences }, () => replicator)?.why).toBe(
      `1 missing; each was checked twice, and 2 other documents differ, and ${since}`,
    );
  },
);

test.each([
  { inFlight: 0, waitsFor: null, rest: 'no document was in flight' },
  {
    inFlight: 5,
    waitsFor: '1 range of the source has changes that are not replicated yet',
    rest: '5 documents may still be in flight: 1 range of the source has changes that are not replicated yet',
  },
])(
  'verify error: differences and $inFlight documents in flight -> a mismatch that says so',
  ({ rest, ...found }) => {
    const differences = { missing: 1, extra: 0, different: 0, wrongSlot: 0 };
    const verdict = { ...VERDICT, level: 'digest', equal: false, differences, ...found } as const;
    expect(errorForVerdict(verdict, () => 'tail')).toMatchObject({
      message: '1 difference between source and target',
      why: `1 missing; each was checked twice, and ${rest}`,
      hint: expect.stringMatching(/; stop cosmig tail, then run cosmig verify --repair to fix them$/),
    });
  },
);
