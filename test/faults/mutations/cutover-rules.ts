/** The rules of a cutover: what keeps it from committing to a target that is not what the source is. */
import type { Rule } from './rule.ts';

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
        find: 'names.length === 0 || names.some((name) => repaired.has(name))',
        replace: 'names.length === 0',
      },
    ],
    test: 'test/integration/cutover/order.test.ts',
    by: 'repaired and differs again',
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
        find: '  // Replicates the deletes of documents that expired during the comparison.\n  await catchUp(leases);\n',
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
        find: 'return null;\n  return endsUnmoved(attempt, ends);',
        replace: 'return null;\n  return ends;',
      },
    ],
    test: 'test/integration/cutover/order.test.ts',
    by: 'while the comparison is not over',
  },
  {
    name: 'fence-of-any-replica',
    edits: [
      {
        file: 'src/engine/cutover/fence.ts',
        find: "const to = await readSourceEnds(context, 'newest', reading);",
        replace: "const to = await readSourceEnds(context, 'any replica', reading);",
      },
    ],
    test: 'test/integration/cutover/cutover.test.ts',
    by: 'replica lags',
  },
  {
    name: 'proof-while-a-writer-writes',
    edits: [
      {
        file: 'src/engine/cutover/fence.ts',
        find: 'if (ends === null) over.abort(',
        replace: 'if (ends === undefined) over.abort(',
      },
    ],
    test: 'test/integration/cutover/cutover.test.ts',
    by: 'write during a comparison',
  },
  {
    name: 'letter-behind-the-gate',
    edits: [
      {
        file: 'src/engine/cutover/cutover.ts',
        find: "    refuseOpenLetters(context);\n    enter(context, { phase: 'proven' });",
        replace: "    enter(context, { phase: 'proven' });",
      },
    ],
    test: 'test/integration/cutover/late-gate-changes.test.ts',
    by: 'opens after the gate',
  },
  {
    name: 'proof-during-unreported-deletes',
    edits: [
      {
        file: 'src/engine/cutover/fence.ts',
        find: "const isEveryChangeReported = context.deletes === 'avad' || !context.expires;",
        replace: "const isEveryChangeReported = context.deletes !== 'none';",
      },
    ],
    test: 'test/integration/cutover/late-gate-changes.test.ts',
    by: 'delete during the watch',
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
    by: 'writes still arrive',
  },
  {
    name: 'first-page-of-changes',
    edits: [
      {
        file: 'src/engine/cutover/source-ends.ts',
        find: "    if (unnamed > 0) touched.set(UNNAMED, { id: UNNAMED, what: 'deleted' });\n",
        replace:
          "    if (unnamed > 0) touched.set(UNNAMED, { id: UNNAMED, what: 'deleted' });\n    if (seen === 0) return;\n",
      },
    ],
    test: 'test/integration/cutover/watch.test.ts',
    by: 'one delete behind many expirations',
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
        find: "    if (unnamed > 0) touched.set(UNNAMED, { id: UNNAMED, what: 'deleted' });\n",
        replace: '    void unnamed;\n',
      },
    ],
    test: 'test/integration/cutover/watch.test.ts',
    by: 'delete without a document',
  },
  {
    name: 'changes-of-any-replica',
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
    by: 'changes replicated before',
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
    by: 'open dead letters',
  },
  {
    name: 'unproven-passes-the-gate',
    edits: [
      {
        file: 'src/engine/cutover/gate.ts',
        find: 'if (cleanMs === null)',
        replace: 'if (cleanMs === 0)',
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
        file: 'src/engine/cutover/proof.ts',
        find: 'some(({ sweepPending }) => sweepPending)',
        replace: 'some(({ sweepPending, number }) => sweepPending && number < 0)',
      },
    ],
    test: 'test/integration/cutover/after-commit.test.ts',
    by: 'some deletes were not reported',
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
        find: 'if (proof?.fingerprint !== fingerprint(spec)) return null;',
        replace: 'if (proof === null) return null;',
      },
    ],
    test: 'test/integration/cutover/scope.test.ts',
    by: 'opens no gate',
  },
  {
    name: 'writers-not-resumed',
    edits: [
      {
        file: 'src/engine/cutover/cutover.ts',
        find: 'if (mayHaveStopped && !isCanceled(context))',
        replace: 'if (!mayHaveStopped && !isCanceled(context))',
      },
    ],
    test: 'test/integration/cutover/after-commit.test.ts',
    by: 'refused after an earlier one crashed',
  },
  {
    name: 'gate-lets-a-comparison-miss-the-deadline',
    edits: [
      {
        file: 'src/engine/cutover/gate.ts',
        find: 'if (!isTooLong) {',
        replace: 'if (takesMs >= 0) {',
      },
    ],
    test: 'test/integration/cutover/scope.test.ts',
    by: 'longer than the deadline',
  },
  {
    name: 'target-not-looked-at-again',
    edits: [
      {
        file: 'src/engine/cutover/fence.ts',
        find: '  if (!(await proveTargetUnchanged(attempt, reading))) return null;\n',
        replace: '',
      },
    ],
    test: 'test/integration/cutover/strangers.test.ts',
    by: 'writes a new document',
  },
  {
    name: 'target-looked-at-once',
    edits: [{ file: 'src/engine/cutover/proof.ts', find: 'if (expires) break;', replace: 'break;' }],
    test: 'test/integration/cutover/strangers.test.ts',
    by: 'new documents after each comparison',
  },
  {
    name: 'target-not-counted-again',
    edits: [
      {
        file: 'src/engine/cutover/proof.ts',
        find: "expires ? 'writes' : 'changes'",
        replace: "expires ? 'writes' : 'writes'",
      },
    ],
    test: 'test/integration/cutover/strangers.test.ts',
    by: 'deletes a copy',
  },
  {
    name: 'target-of-any-replica',
    edits: [
      {
        file: 'src/engine/cutover/target-ends.ts',
        find: '      await seeNewest(context, { range, side }, inner);\n',
        replace: '',
      },
    ],
    test: 'test/integration/cutover/strangers.test.ts',
    by: 'that other replicas do not have',
  },
  {
    name: 'known-documents-counted-twice',
    edits: [
      {
        file: 'src/state/index/known-documents.ts',
        find: 'if (inRuns.find(identity) !== null) indexed -= 1;',
        replace: 'inRuns.find(identity);',
      },
    ],
    test: 'test/unit/state/index/known-documents.test.ts',
    by: 'as many as look-ups find',
  },
  {
    name: 'void-entries-counted',
    edits: [
      {
        file: 'src/state/index/known-documents.ts',
        find: 'rows.isOverridden(entries.read(found.block, found.at))',
        replace: 'found.at < 0',
      },
    ],
    test: 'test/unit/state/index/known-documents.test.ts',
    by: 'as many as look-ups find',
  },
  {
    name: 'expired-documents-are-not-announced',
    edits: [
      {
        file: 'src/engine/cutover/gate.ts',
        find: 'if (context.expires)\n',
        replace: 'if (context.expires && takesMs < 0)\n',
      },
    ],
    test: 'test/integration/cutover/scope.test.ts',
    by: 'documents have expired and are not purged',
  },
  {
    name: 'repairs-are-not-recorded',
    edits: [
      { file: 'src/engine/cutover/cutover.ts', find: '      repaired: attempt.repairs,\n', replace: '' },
    ],
    test: 'test/integration/cutover/strangers.test.ts',
    by: 'after both sides were compared -> compared again, and repaired',
  },
  {
    name: 'a-write-of-another-process-is-repaired-as-our-own',
    edits: [
      {
        file: 'src/engine/cutover/attempt.ts',
        find: 'if (this.isTargetWritten) this.#byOthers',
        replace: 'if (this.isTargetWritten && name.length === 0) this.#byOthers',
      },
    ],
    test: 'test/integration/cutover/strangers.test.ts',
    by: 'after both sides were compared -> compared again, and repaired',
  },
];
