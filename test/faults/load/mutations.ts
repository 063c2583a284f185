/**
 * The rules by which a run keeps its time and spares the service, each with the edit that takes it out of the code, and
 * the test that must then fail.
 */
import type { Rule } from '../mutations-patches.ts';

const SETTLE = 'src/engine/unit/settle.ts';
const WINDOWS = 'test/integration/tail/short-windows.test.ts';

export const LOAD_RULES: readonly Rule[] = [
  {
    name: 'documents-in-flight-without-bound',
    edits: [
      {
        file: 'src/engine/progress/backlog.ts',
        find: 'this.#open === 0 || this.#open + documents <= this.documentsMax',
        replace: 'documents > 0',
      },
    ],
    test: 'test/unit/engine/progress/backlog.test.ts',
    by: 'wait until enough have ended',
  },
  {
    name: 'speed-of-a-burst-believed',
    edits: [
      {
        file: 'src/engine/progress/backlog.ts',
        find: 'Math.min(measured, this.#rate * GROWTH_MAX)',
        replace: 'measured',
      },
    ],
    test: 'test/unit/engine/progress/backlog.test.ts',
    by: 'twice as many each second',
  },
  {
    name: 'all-documents-begun-before-one-ends',
    edits: [
      {
        file: 'src/cosmos/bulk/batcher.ts',
        find: '(operation.hasBegun === true ? this.#first : this.#others).push(operation);',
        replace: 'this.#others.push(operation);',
      },
    ],
    test: 'test/unit/cosmos/bulk/batcher.test.ts',
    by: 'operations of documents that have begun',
  },
  {
    name: 'time-budget-exceeded-without-end',
    edits: [
      {
        file: 'src/engine/progress/stopping.ts',
        find: 'if (isOverdue()) {',
        replace: 'if (seen === null) {',
      },
    ],
    test: 'test/unit/engine/progress/stopping.test.ts',
    by: 'far beyond its time budget',
  },
  {
    name: 'settling-kept-only-at-its-end',
    edits: [
      {
        file: SETTLE,
        find: 'ledger.pages.settle({ claims, rows, overrides: findings.overrides });',
        replace: 'ledger.pages.settle({ rows, overrides: findings.overrides });',
      },
    ],
    test: WINDOWS,
    by: 'each settles a part',
  },
  {
    name: 'settling-heeds-no-stop',
    edits: [{ file: SETTLE, find: '      stopping.signal.throwIfAborted();\n', replace: '' }],
    test: WINDOWS,
    by: 'each settles a part',
  },
  {
    name: 'rest-without-hint-does-not-grow',
    edits: [
      {
        file: 'src/cosmos/load/range-limit.ts',
        find: 'this.#restMs = Math.min(REST_MAX_MS, restMs * 2);',
        replace: '',
      },
    ],
    test: 'test/unit/cosmos/load/governor.test.ts',
    by: 'no hint -> each rest',
  },
];
