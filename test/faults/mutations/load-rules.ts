/**
 * The rules by which a run keeps its time and spares the service, each with the edit that takes it out of the code, and
 * the test that must then fail.
 */
import type { Rule } from './rule.ts';

const SETTLE = 'src/engine/unit/settle.ts';
const LAST_REQUEST = 'test/unit/engine/unit/last-request.test.ts';
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
    name: 'small-batches-leave-however-many-are-in-flight',
    edits: [
      {
        file: 'src/cosmos/bulk/filling.ts',
        find: 'this.#inFlight >= THRONG ? THRONG_FILL_MS : FILL_MS',
        replace: 'FILL_MS',
      },
    ],
    test: 'test/unit/cosmos/bulk/dispatcher.test.ts',
    by: '256 batches in flight',
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
        find: 'ledger.units.settle({ claims, rows, overrides: findings.overrides, counters: removed });',
        replace: 'ledger.units.settle({ rows, overrides: findings.overrides, counters: removed });',
      },
    ],
    test: WINDOWS,
    by: 'each settles a part',
  },
  {
    name: 'settling-heeds-no-stop',
    edits: [{ file: SETTLE, find: 'if (stopping.signal.aborted) {', replace: 'if (pages.length === 0) {' }],
    test: WINDOWS,
    by: 'each settles a part',
  },
  {
    name: 'moments-of-two-clocks-compared',
    edits: [{ file: 'src/engine/unit/machine-time.ts', find: 'then.clock !== now.clock || ', replace: '' }],
    test: LAST_REQUEST,
    by: 'the machine was started again, and its clock shows more',
  },
  {
    name: 'request-on-its-way-forgotten',
    edits: [
      {
        file: 'src/engine/unit/last-request.ts',
        find: 'NOTED_FOR_MS + 2 * requestTimeoutMs',
        replace: 'NOTED_FOR_MS + requestTimeoutMs',
      },
    ],
    test: LAST_REQUEST,
    by: 'it starts after 60 s',
  },
  {
    name: 'requests-sent-on-an-old-record',
    edits: [
      {
        file: 'src/engine/unit/last-request.ts',
        find: 'passedMs === null || passedMs >= NOTED_FOR_MS',
        replace: 'passedMs === null',
      },
    ],
    test: LAST_REQUEST,
    by: 'a process that was suspended',
  },
  {
    name: 'requests-not-recorded',
    edits: [
      {
        file: 'src/engine/apply/target-slots.ts',
        find: 'beforeRequest: () => notes.note(),',
        replace: 'beforeRequest: () => {},',
      },
    ],
    test: 'test/integration/tail/after-crash.test.ts',
    by: 'it does not wait',
  },
  {
    name: 'swallowed-read-waited-for',
    edits: [
      {
        file: 'src/cosmos/transport/container-requests.ts',
        find: 'METADATA_TIMEOUTS_MS[attempt] ?? TIMEOUT_MS',
        replace: 'TIMEOUT_MS',
      },
    ],
    test: 'test/integration/cosmos/swallowed-reads.test.ts',
    by: 'to read metadata',
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
