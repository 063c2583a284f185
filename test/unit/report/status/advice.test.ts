/** What status advises while a run works: whether the run ends by itself decides what the operator has to do. */
import { expect, test } from 'vitest';
import { adviseNext } from '../../../../src/report/status/status-advice.ts';
import type { Status } from '../../../../src/report/status/status-data.ts';
import { swapWords } from '../../../../src/spec/turns/swapped-sides.ts';
import { factsOf } from '../watch/making.ts';
import { beginLease, NOW_MS } from '../../state/making.ts';

const AT = new Date(NOW_MS).toISOString();
const PROOF = { at: AT };
const FOUND: NonNullable<Status['lastComparison']> = {
  at: AT,
  equal: false,
  differences: { missing: 0, extra: 158, different: 0, wrongSlot: 0 },
  voids: null,
};
const FACTS = factsOf((ledger) => beginLease(ledger, { phase: 'tail' }));
const OPEN = { open: 2, reasons: { collision: 2 }, closed: 0, discarded: 0 };

/** What is advised while a command runs, in the words of the operator. */
function adviceDuring(command: string, known: Partial<Status>): string {
  if (FACTS.is !== 'known') throw new Error(FACTS.why);
  const run = { command, pid: 1, began: AT, ended: null, outcome: null, why: null };
  const running = { pid: 1, since: AT };
  const status: Status = { ...FACTS.status, phase: 'tailing', lastRun: run, running, ...known };
  const next = adviseNext(status);
  return command === 'reverse' || command === 'rollback' ? swapWords(next) : next;
}

const LETTERS = '; cosmig dead-letters list shows what could not be moved';
const FIXES = 'fixes the differences that the last comparison found, and compares again';

test.each<[what: string, command: string, known: Partial<Status>, next: string]>([
  [
    'a tail runs, differences were found',
    'tail',
    { lastComparison: FOUND },
    `stop cosmig tail with Ctrl-C; then cosmig verify --repair ${FIXES}`,
  ],
  [
    'the way back is in use, differences were found',
    'reverse',
    { lastComparison: FOUND },
    `stop cosmig reverse with Ctrl-C; then cosmig verify --reverse --repair ${FIXES}`,
  ],
  [
    'the way back is in use, differences were found, and dead letters are open',
    'reverse',
    { lastComparison: FOUND, deadLetters: OPEN },
    `stop cosmig reverse with Ctrl-C; then cosmig verify --reverse --repair ${FIXES}${LETTERS}`,
  ],
  [
    'the way back is in use, and dead letters are open',
    'reverse',
    { deadLetters: OPEN },
    `keep cosmig reverse running, and fix the documents of dead letters in the target: cosmig reverse then applies them${LETTERS}`,
  ],
  [
    'the way back is in use, and is proven',
    'reverse',
    { proof: PROOF },
    'keep cosmig reverse running; when you are ready, stop it with Ctrl-C and run cosmig rollback',
  ],
  [
    'the way back has not found all documents yet',
    'reverse',
    { phase: 'copying' },
    'keep cosmig reverse running until it has found all documents',
  ],
  ['a copy runs', 'copy', { phase: 'copying' }, 'wait for the run to finish'],
  ['a repair runs', 'verify --repair', { lastComparison: FOUND }, 'wait for the run to finish'],
  ['a cutover catches up', 'cutover', { proof: PROOF }, 'wait for the run to finish'],
  ['a rollback catches up', 'rollback', { proof: PROOF }, 'wait for the run to finish'],
])('status: %s -> says whether to wait or to stop it', (_what, command, known, next) => {
  expect(adviceDuring(command, known)).toBe(next);
});
