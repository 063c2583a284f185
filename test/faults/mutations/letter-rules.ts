/** The rules of dead letters that no feed reports anything about, and of those that an operator has discarded. */
import type { Rule } from './rule.ts';

const LOOKS = 'src/engine/letters/looks.ts';
const LOOKS_TEST = 'test/integration/dead-letters/looks.test.ts';
const ENDED_TEST = 'test/integration/dead-letters/ended.test.ts';

export const LETTER_RULES: readonly Rule[] = [
  {
    name: 'a-tail-never-looks',
    edits: [
      {
        file: LOOKS,
        find: "if (goal === 'tail') leases.context.tasks",
        replace: "if (goal === 'copy') leases.context.tasks",
      },
    ],
    test: LOOKS_TEST,
    by: 'the tail closes the letters',
  },
  {
    name: 'a-run-that-catches-up-never-looks',
    edits: [{ file: LOOKS, find: "  if (goal === 'catch-up') await lookOnce(leases);\n", replace: '' }],
    test: LOOKS_TEST,
    by: 'a run that catches up',
  },
  {
    name: 'the-gate-never-looks',
    edits: [
      {
        file: 'src/engine/cutover/gate.ts',
        find: '  await lookOnce(leases);\n',
        replace: '',
      },
    ],
    test: LOOKS_TEST,
    by: 'the gate of a cutover',
  },
  {
    name: 'a-look-while-the-tail-is-behind',
    edits: [
      {
        file: LOOKS,
        find: 'pending.anyLetters && reporter.haveAllCaughtUp()',
        replace: 'pending.anyLetters',
      },
    ],
    test: LOOKS_TEST,
    by: 'the tail is behind',
  },
  {
    name: 'a-look-ignores-the-holder-of-the-slot',
    edits: [
      {
        file: LOOKS,
        find: 'return !(await stillMaps(this.#context, seen.identity, slot));',
        replace: 'return false;',
      },
    ],
    test: LOOKS_TEST,
    by: 'the tail closes the letters',
  },
  {
    name: 'the-first-letters-are-looked-at-for-ever',
    edits: [
      {
        file: LOOKS,
        find: 'this.#after = letters.length < AT_ONCE ? 0 : (letters.at(-1)?.number ?? 0);',
        replace: 'void letters;',
      },
    ],
    test: LOOKS_TEST,
    by: 'each is looked at once before any is looked at again',
  },
  {
    name: 'each-run-looks-at-the-first-letters',
    edits: [
      { file: LOOKS, find: 'count <= LETTERS_A_RUN ? 0 : (run * LETTERS_A_RUN) % newest', replace: '0' },
    ],
    test: LOOKS_TEST,
    by: 'each run begins with others',
  },
  {
    name: 'a-copy-that-others-changed-is-retried-for-ever',
    edits: [
      { file: LOOKS, find: "if (reason === 'changed-by-others') return false;", replace: 'void reason;' },
    ],
    test: LOOKS_TEST,
    by: 'on the way back',
  },
  {
    name: 'a-discarded-letter-outlives-its-reason',
    edits: [
      {
        file: 'src/engine/letters/dead-letters.ts',
        find: 'if (!isOpen && !(pending.anyDiscarded && ledger.letters.isDiscarded(hash))) return;',
        replace: 'if (!isOpen) return;',
      },
    ],
    test: ENDED_TEST,
    by: 'documents are moved, changed and deleted',
  },
  {
    name: 'a-discarded-letter-outlives-the-next-one',
    edits: [
      {
        file: 'src/state/dead-letters.ts',
        find: '      this.#sql.endDiscarded.run({ identity: letter.identity, atMs: letter.atMs });\n',
        replace: '',
      },
    ],
    test: ENDED_TEST,
    by: 'documents are moved, changed and deleted',
  },
  {
    name: 'a-repair-leaves-letters-to-its-tail',
    edits: [
      {
        file: 'src/workflows/repair.ts',
        find: "  if (letters.notClosed.size > 0) await run('catch-up', { ...parts, command: 'verify --repair' });\n",
        replace: '',
      },
    ],
    test: 'test/integration/verify/command/closed-letters.test.ts',
    by: 'looked at all the same',
  },
  {
    name: 'a-discarded-letter-is-not-looked-at',
    edits: [
      {
        file: LOOKS,
        find: "for (const state of ['open', 'discarded'] as const)",
        replace: "for (const state of ['open'] as const)",
      },
    ],
    test: 'test/integration/dead-letters/ended.test.ts',
    by: 'no feed reports it',
  },
  {
    name: 'a-discarded-document-is-moved-into-a-free-slot',
    edits: [{ file: LOOKS, find: "    if (this.#state === 'discarded') return false;\n", replace: '' }],
    test: 'test/integration/dead-letters/ended.test.ts',
    by: 'the slot of a discarded letter becomes free',
  },
];
