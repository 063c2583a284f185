import { expect, test } from 'vitest';
import { beforeAfter } from '../../../../src/report/status/before-after.ts';
import { factsOf } from '../watch/making.ts';
import { beginLease, NOW_MS } from '../../state/making.ts';

const SAME_MOMENT = 'The sides were not counted at the same moment: ';
const MEANWHILE = 'documents that were written meanwhile may be counted on one side only.';

test.each([
  [9, 9, { open: 0, discarded: 1 }, ''],
  [
    9,
    8,
    { open: 0, discarded: 1 },
    ' The target has 1 document fewer: that of the dead letter that is listed below.',
  ],
  [
    9,
    6,
    { open: 2, discarded: 1 },
    ' The target has 3 documents fewer: those of the dead letters that are listed below.',
  ],
  [
    9,
    7,
    { open: 1, discarded: 0 },
    ` ${SAME_MOMENT}documents of dead letters are not in the target, and ${MEANWHILE}`,
  ],
  [7, 9, { open: 0, discarded: 0 }, ` ${SAME_MOMENT}${MEANWHILE}`],
])(
  'before and after: %i and %i documents with dead letters %j -> says why%s',
  (source, target, letters, why) => {
    const facts = factsOf((ledger) => beginLease(ledger, { phase: 'tail' }));
    if (facts.is !== 'known') throw new Error(facts.why);
    const counted = (documents: number) => [{ ids: ['0'], min: '', max: 'FF', documents }];
    const counts = { source: counted(source), target: counted(target) };
    const deadLetters = { ...facts.status.deadLetters, ...letters };
    const { text } = beforeAfter({
      ...facts,
      status: { ...facts.status, deadLetters },
      spread: { atMs: NOW_MS, fingerprint: '', counts },
      reports: [],
      discarded: [],
      cutover: [],
    });
    expect(text).toContain(`Counted by the comparison of 2026-01-01 00:00:00Z.${why}</p>`);
  },
);
