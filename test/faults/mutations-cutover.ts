/** The same of a cutover: what keeps it from committing to a target that is not what the source is. */
import type { Rule } from './mutations-patches.ts';

export const CUTOVER_RULES: readonly Rule[] = [
  {
    name: 'proof-not-heeded',
    edits: [
      {
        file: 'src/engine/cutover/fence.ts',
        find: 'return ends !== null && isEqual() ? ends : null;',
        replace: 'isEqual();\n  return ends;',
      },
    ],
    test: 'test/integration/cutover/order.test.ts',
    by: 'what is not proven',
  },
  {
    name: 'repaired-twice-passes',
    edits: [
      {
        file: 'src/engine/cutover/proof.ts',
        find: 'names.length === 0 || names.some((name) => brought.has(name))',
        replace: 'names.length === 0',
      },
    ],
    test: 'test/integration/cutover/order.test.ts',
    by: 'brought right and differs still',
  },
  {
    name: 'unproven-commits',
    edits: [
      {
        file: 'src/engine/cutover/proof.ts',
        find: 'if (equal !== false) return equal === true;',
        replace: 'if (equal !== false) return true;',
      },
    ],
    test: 'test/integration/cutover/order.test.ts',
    by: 'what is not proven',
  },
  {
    name: 'expired-behind-the-proof',
    edits: [
      {
        file: 'src/engine/cutover/fence.ts',
        find: '  // What has expired meanwhile.\n  await catchUp(leases);\n',
        replace: '',
      },
    ],
    test: 'test/integration/cutover/order.test.ts',
    by: 'what expires while',
  },
  {
    name: 'fence-not-looked-at-again',
    edits: [
      {
        file: 'src/engine/cutover/fence.ts',
        find: '  await catchUp(leases);\n  return endsUnmoved(leases, parts, ends);',
        replace: '  await catchUp(leases);\n  return ends;',
      },
    ],
    test: 'test/integration/cutover/order.test.ts',
    by: 'the comparison is not over',
  },
  {
    name: 'fence-as-told',
    edits: [
      {
        file: 'src/engine/cutover/fence.ts',
        find: "const to = await readFence(context, 'newest', reading);",
        replace: "const to = await readFence(context, 'as told', reading);",
      },
    ],
    test: 'test/integration/cutover/cutover.test.ts',
    by: 'sees the last write',
  },
  {
    name: 'proof-beside-a-writer',
    edits: [
      {
        file: 'src/engine/cutover/fence.ts',
        find: 'if (ends === null) over.abort(',
        replace: 'if (ends === undefined) over.abort(',
      },
    ],
    test: 'test/integration/cutover/cutover.test.ts',
    by: 'does not listen',
  },
  {
    name: 'letter-behind-the-gate',
    edits: [
      {
        file: 'src/engine/cutover/cutover.ts',
        find: "    refuseLetters(context);\n    enter(context, 'proven');",
        replace: "    enter(context, 'proven');",
      },
    ],
    test: 'test/integration/cutover/late-gate-changes.test.ts',
    by: 'behind the gate',
  },
  {
    name: 'proof-beside-untold-deletes',
    edits: [
      {
        file: 'src/engine/cutover/fence.ts',
        find: "const isTold = context.deletes === 'avad' || !context.expires;",
        replace: "const isTold = context.deletes !== 'none';",
      },
    ],
    test: 'test/integration/cutover/late-gate-changes.test.ts',
    by: 'where documents may expire',
  },
  {
    name: 'moved-ends-pass',
    edits: [
      {
        file: 'src/engine/cutover/source-ends.ts',
        find: 'if (now !== undefined && now.lsn === end.lsn) continue;',
        replace: 'if (now !== undefined) continue;',
      },
    ],
    test: 'test/integration/cutover/cutover.test.ts',
    by: 'waits for writers',
  },
  {
    name: 'first-page-of-changes',
    edits: [
      {
        file: 'src/engine/cutover/source-ends.ts',
        find: "    if (unnamed > 0) touched.set(NOBODY, { id: NOBODY, what: 'deleted' });\n",
        replace:
          "    if (unnamed > 0) touched.set(NOBODY, { id: NOBODY, what: 'deleted' });\n    if (seen === 0) return;\n",
      },
    ],
    test: 'test/integration/cutover/watch.test.ts',
    by: 'one delete behind',
  },
  {
    name: 'expiry-is-a-write',
    edits: [
      {
        file: 'src/engine/cutover/source-ends.ts',
        find: '      if (expired.has(change)) continue;\n',
        replace: '',
      },
    ],
    test: 'test/integration/cutover/order.test.ts',
    by: 'what expires while',
  },
  {
    name: 'unnamed-delete-passes',
    edits: [
      {
        file: 'src/engine/cutover/source-ends.ts',
        find: "    if (unnamed > 0) touched.set(NOBODY, { id: NOBODY, what: 'deleted' });\n",
        replace: '    void unnamed;\n',
      },
    ],
    test: 'test/integration/cutover/watch.test.ts',
    by: 'whom it is of',
  },
  {
    name: 'changes-as-told',
    edits: [
      {
        file: 'src/engine/cutover/source-ends.ts',
        find: '      sessionToken: () => tokenOf(sourceSide, range.range.id),\n',
        replace: '',
      },
    ],
    test: 'test/integration/cutover/watch.test.ts',
    by: 'only the newest replica',
  },
  {
    name: 'ledger-position-of-the-copy',
    edits: [
      {
        file: 'src/engine/cutover/source-ends.ts',
        find: 'lv: avadPosition === null ? lvPosition : null,',
        replace: 'lv: lvPosition,',
      },
    ],
    test: 'test/integration/cutover/crash-after-commit.test.ts',
    by: 'brought over before',
  },
  {
    name: 'letters-pass-the-gate',
    edits: [
      {
        file: 'src/engine/cutover/gate.ts',
        find: 'if (open === 0) return;',
        replace: 'if (open >= 0) return;',
      },
    ],
    test: 'test/integration/cutover/cutover.test.ts',
    by: 'dead letters',
  },
  {
    name: 'unproven-passes-the-gate',
    edits: [
      {
        file: 'src/engine/cutover/gate.ts',
        find: 'if (lastCleanMs() === null)',
        replace: 'if (lastCleanMs() === 0)',
      },
    ],
    test: 'test/integration/cutover/cutover.test.ts',
    by: 'no clean verify',
  },
  {
    name: 'lag-passes-the-gate',
    edits: [
      {
        file: 'src/engine/cutover/gate.ts',
        find: 'if (lagMs > LAG_MAX_MS)',
        replace: 'if (lagMs > LAG_MAX_MS * 1000)',
      },
    ],
    test: 'test/integration/cutover/watch.test.ts',
    by: 'needs minutes',
  },
  {
    name: 'lost-deletes-compared-by-changes',
    edits: [
      {
        file: 'src/engine/cutover/gate.ts',
        find: 'some(({ sweepPending }) => sweepPending)',
        replace: 'some(({ sweepPending, number }) => sweepPending && number < 0)',
      },
    ],
    test: 'test/integration/cutover/after-commit.test.ts',
    by: 'deletes that were lost',
  },
  {
    name: 'proof-of-an-old-pass',
    edits: [
      {
        file: 'src/workflows/compare.ts',
        find: 'fresh: !again, again',
        replace: 'fresh: false, again',
      },
    ],
    test: 'test/integration/cutover/scope.test.ts',
    by: 'one that was not proven before',
  },
  {
    name: 'gate-opened-by-another-spec',
    edits: [
      {
        file: 'src/workflows/compare.ts',
        find: 'return proof?.fingerprint === fingerprint(spec) ? proof.atMs : null;',
        replace: 'return proof === null ? null : proof.atMs;',
      },
    ],
    test: 'test/integration/cutover/scope.test.ts',
    by: 'opens no gate',
  },
  {
    name: 'writers-not-let-on',
    edits: [
      {
        file: 'src/engine/cutover/cutover.ts',
        find: 'if (hasStopped && !isCalledOff(context))',
        replace: 'if (!hasStopped && !isCalledOff(context))',
      },
    ],
    test: 'test/integration/cutover/after-commit.test.ts',
    by: 'lets the writers on again',
  },
];
