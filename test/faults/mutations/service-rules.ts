/** The rules about the service's time and identity, each with the edit that takes it out and the test that must notice. */
import type { Rule } from './rule.ts';

const TIME = 'src/cosmos/account/service-time.ts';
const TIME_TEST = 'test/unit/cosmos/account/service-time.test.ts';

const SAME = 'src/cosmos/transport/same-container.ts';

const RESERVATION = 'src/preflight/reservation.ts';
const RESERVATION_TEST = 'test/integration/service/two-ledgers.test.ts';

const NO_LSN_TEST = 'test/integration/service/feed-without-lsn.test.ts';
const PROBE_TEST = 'test/integration/cli/doctor-probe.test.ts';

export const SERVICE_RULES: readonly Rule[] = [
  {
    name: 'a-document-that-moves-collides-with-itself',
    edits: [
      {
        file: 'src/preflight/sample.ts',
        find: 'slots[2 * at] === slot && slots[2 * at + 1] === slot',
        replace: 'slots[2 * at] === slot || slots[2 * at + 1] === slot',
      },
    ],
    test: 'test/integration/copy/dry-run.test.ts',
    by: 'another key of the source',
  },
  {
    name: 'one-wrong-date-is-believed',
    edits: [{ file: TIME, find: 'if (replies < REPLIES) return false;', replace: '' }],
    test: TIME_TEST,
    by: 'ms off -> nothing changes',
  },
  {
    name: 'dates-ahead-are-believed-at-once',
    edits: [{ file: TIME, find: 'nowMs - sinceMs >= AHEAD_FOR_MS', replace: 'nowMs - sinceMs >= 0' }],
    test: TIME_TEST,
    by: 'ahead for seconds -> no document expires',
  },
  {
    name: 'service-time-goes-on-by-the-wall-clock',
    edits: [
      {
        file: TIME,
        find: 'return this.#clock.monotonicMs() + this.#offsetMs;',
        replace: 'return Math.max(this.#clock.now(), this.#clock.monotonicMs() + this.#offsetMs);',
      },
    ],
    test: TIME_TEST,
    by: 'the time goes on as before',
  },
  {
    name: 'patience-counts-the-wall-clock',
    edits: [
      {
        file: 'src/cosmos/load/retry.ts',
        find: 'if (limit === undefined) throw new TroubleError(trouble);\n    const nowMs = clock.monotonicMs();',
        replace: 'if (limit === undefined) throw new TroubleError(trouble);\n    const nowMs = clock.now();',
      },
    ],
    test: 'test/unit/cosmos/load/retry.test.ts',
    by: 'the clock is set forward while the service throttles',
  },
  {
    name: 'signs-by-a-clock-that-was-refused',
    edits: [
      {
        file: 'src/cosmos/account/signer.ts',
        find: 'this.#offsetMs = isOff ? theirsMs - this.#clock.monotonicMs() : undefined;',
        replace: 'this.#offsetMs = isOff ? undefined : this.#offsetMs;',
      },
    ],
    test: 'test/integration/service/service-clock.test.ts',
    by: 'ahead of what the service accepts',
  },
  {
    name: 'lasting-trouble-is-not-looked-into',
    edits: [{ file: SAME, find: '>= SUSPECT_AFTER_MS;', replace: '>= Infinity;' }],
    test: 'test/unit/cosmos/transport/same-container.test.ts',
    by: 'for a second without a success -> the container is looked at',
  },
  {
    name: 'requests-do-not-say-which-container-they-mean',
    edits: [
      {
        file: 'src/cosmos/transport/container-requests.ts',
        find: 'return this.#rid === undefined ? passage.headers',
        replace: "return this.#rid !== '' ? passage.headers",
      },
    ],
    test: 'test/integration/copy/trouble.test.ts',
    by: 'a write that reaches another container',
  },
  {
    name: 'anchors-over-ranges-of-before',
    edits: [
      {
        file: 'src/engine/leases/anchor.ts',
        find: '    await ranges.resolve(signal);\n    const { list }',
        replace: '    const { list }',
      },
    ],
    test: 'test/integration/service/feed-refused.test.ts',
    by: 'splits before the anchors are taken',
  },
  {
    name: 'missing-history-is-an-error',
    edits: [
      {
        file: 'src/cosmos/feed/feed.ts',
        find: '(status === 410 || status === 503) && substatus === 1024',
        replace: '(status === 410 || status === 503) && substatus < 0',
      },
    ],
    test: 'test/integration/service/feed-refused.test.ts',
    by: 'the history of a split parent is missing',
  },
  {
    name: 'merged-once-is-passing-trouble',
    edits: [
      {
        file: 'src/cosmos/feed/feed.ts',
        find: "!MERGED_ONCE.test(trouble.says ?? '')",
        replace: "trouble.says !== 'never'",
      },
    ],
    test: 'test/integration/service/feed-refused.test.ts',
    by: 'partitions are merged during a tail',
  },
  {
    name: 'a-reservation-of-another-is-ours',
    edits: [{ file: RESERVATION, find: 'if (status === 201) return;', replace: 'if (status > 0) return;' }],
    test: RESERVATION_TEST,
    by: 'reserves the target at the same moment',
  },
  {
    name: 'a-reserved-target-is-not-looked-at',
    edits: [
      {
        file: 'src/preflight/inspect.ts',
        find: '  try {\n    await refuseOccupied(',
        replace: '  try {\n    if (text.ledger === "") await refuseOccupied(',
      },
    ],
    test: RESERVATION_TEST,
    by: 'documents arrive between',
  },
  {
    name: 'the-reservation-stays',
    edits: [
      {
        file: 'src/engine/leases/run-leases.ts',
        find: '    await removeReservation(context);\n',
        replace: '    if (reading.aborted) await removeReservation(context);\n',
      },
    ],
    test: RESERVATION_TEST,
    by: 'the copy leaves no reservation',
  },
  {
    name: 'the-reservation-is-read-from-any-replica',
    edits: [
      {
        file: RESERVATION,
        find: "if (failed === 'missing') return undefined;",
        replace: "if (failed === 'missing') return undefined;\n    this.#sessionToken = undefined;",
      },
    ],
    test: RESERVATION_TEST,
    by: 'replicas of the target lag',
  },
  {
    name: 'unchecked-certificates-are-accepted',
    edits: [
      {
        file: 'src/cosmos/account/client.ts',
        find: 'if (checksCertificate || isLoopback',
        replace: 'if (!checksCertificate || isLoopback',
      },
    ],
    test: 'test/integration/service/certificates.test.ts',
    by: 'not on this machine',
  },
  {
    name: 'a-304-ends-the-search-for-writes',
    edits: [
      {
        file: 'src/engine/cutover/source-ends.ts',
        find: 'const isBehind = page.status === 304 && (page.lsn ?? -1) < untilLsn;',
        replace: 'const isBehind = page.status === 304 && untilLsn < 0;',
      },
    ],
    test: 'test/integration/cutover/watch.test.ts',
    by: 'a replica that lags has nothing newer',
  },
  {
    name: 'refusals-late-in-a-split-last-for-ever',
    edits: [
      {
        file: 'src/cosmos/transport/trouble.ts',
        find: "return status >= 500 ? unsure : 'fatal';",
        replace: "return status >= 500 && substatus !== 21003 ? unsure : 'fatal';",
      },
    ],
    test: 'test/unit/cosmos/transport/trouble.test.ts',
    by: ' -> a read is ',
  },
  {
    name: 'copy-takes-documents-without-lsn-for-old',
    edits: [
      {
        file: 'src/engine/copy/copy-reader.ts',
        find: 'const lsn = plain?.lsn(row) ?? versions.lsn(row);\n      if (lsn === null) throw lsnMissing();',
        replace: 'const lsn = plain?.lsn(row) ?? versions.lsn(row) ?? 0;',
      },
    ],
    test: NO_LSN_TEST,
    by: 'copy: a later page',
  },
  {
    name: 'tail-takes-changes-without-lsn-for-old',
    edits: [
      {
        file: 'src/engine/tail/change-reader.ts',
        find: 'if (reading.lsn === null) throw lsnMissing();\n      if (reading.lsn > anchorLsn) {',
        replace: 'if ((reading.lsn ?? 0) > anchorLsn) {',
      },
    ],
    test: NO_LSN_TEST,
    by: 'tail, reconcile',
  },
  {
    name: 'verify-waits-for-a-change-without-lsn',
    edits: [
      {
        file: 'src/verify/recheck/tail-probe.ts',
        find: 'if (lsn === null) throw lsnMissing();\n    return lsn;',
        replace: 'return lsn ?? 0;',
      },
    ],
    test: NO_LSN_TEST,
    by: 'the change that the tail has not replicated',
  },
  {
    name: 'each-connection-warns-of-the-clock',
    edits: [
      {
        file: 'src/cosmos/account/connect-both.ts',
        find: 'const options = { signal, clock, serviceTime };',
        replace: 'const options = { signal, clock, serviceTime: new ServiceTime(clock, log) };',
      },
    ],
    test: 'test/integration/service/service-clock.test.ts',
    by: 'a cutover with a clock that is off',
  },
  {
    name: 'a-young-scratch-container-is-removed',
    edits: [
      {
        file: 'src/cosmos/container/scratch.ts',
        find: 'if (wasLeft && isYoung(',
        replace: "if (wasLeft && name.container === '' && isYoung(",
      },
    ],
    test: PROBE_TEST,
    by: 'two runs with the same name',
  },
  {
    name: 'probes-ask-an-account-that-is-too-weak',
    edits: [
      {
        file: 'src/doctor/probes/run-probes.ts',
        find: 'if (consistency !== null && TOO_WEAK.has(consistency)) throw',
        replace: "if (consistency === '') throw",
      },
    ],
    test: PROBE_TEST,
    by: 'default consistency Eventual',
  },
  {
    name: 'the-report-of-probes-is-written-after-the-removal',
    edits: [
      {
        file: 'src/doctor/probes/run-probes.ts',
        find: '    parts.onProbed(probed);\n    return probed;\n  } finally {\n    await removeAll(account, created, parts);',
        replace:
          '    await removeAll(account, created.splice(0), parts);\n    parts.onProbed(probed);\n    return probed;\n  } finally {\n    await removeAll(account, created, parts);',
      },
    ],
    test: PROBE_TEST,
    by: 'the containers cannot be removed',
  },
];
