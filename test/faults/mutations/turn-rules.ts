/** The rules of the way back, each with the edit that takes it out and the test that must notice. */
import type { Rule } from './rule.ts';

const STRANGERS = 'test/integration/turns/strangers.test.ts';
const CRASH = 'test/integration/turns/crash.test.ts';
const TTL = 'test/integration/turns/time-to-live.test.ts';
const PUT = 'src/engine/apply/put-in-slot.ts';
const BEGIN = 'src/engine/turn/begin-turn.ts';
const SEARCH = 'src/engine/turn/strangers.ts';
const WAY_BACK = 'src/workflows/way-back.ts';
const LEFT_OUT = 'src/preflight/left-out.ts';

export const TURN_RULES: readonly Rule[] = [
  {
    name: 'changed-copy-is-replaced',
    edits: [
      { file: PUT, find: 'isChanged(context, seen, expected) ? CHANGED : undefined', replace: 'undefined' },
    ],
    test: STRANGERS,
    by: 'nothing is lost',
  },
  {
    name: 'own-property-is-taken-out',
    edits: [{ file: 'src/keys/removal.ts', find: '(this.#own?.of(hashes) ?? 0)', replace: '0' }],
    test: 'test/unit/keys/turns.test.ts',
    by: 'goes back to the same bytes',
  },
  {
    name: 'map-leaves-out-own-properties',
    edits: [{ file: 'src/engine/map/map-rows.ts', find: 'this.#remover?.own(row) ?? 0', replace: '0' }],
    test: 'test/integration/turns/derived.test.ts',
    by: 'turns with a derived key',
  },
  {
    name: 'unusable-ranges-are-not-noted',
    edits: [{ file: 'src/engine/run.ts', find: 'noteUnusable(ledger, error, nowMs);', replace: '' }],
    test: 'test/integration/turns/ranges.test.ts',
    by: 'ranges leave a gap',
  },
  {
    name: 'corrected-documents-count-as-left-out',
    edits: [
      {
        file: LEFT_OUT,
        find: "row?.state !== 'quarantined' || seen.has(name)",
        replace: 'row === null || seen.has(name)',
      },
    ],
    test: 'test/integration/turns/left-out.test.ts',
    by: 'dead letters were discarded',
  },
  {
    name: 'deleted-documents-count-as-left-out',
    edits: [{ file: LEFT_OUT, find: "answers[at]?.value !== 'gone'", replace: 'at >= 0' }],
    test: 'test/integration/turns/discarded.test.ts',
    by: 'gone from the source, or in the target',
  },
  {
    name: 'documents-of-the-target-count-as-left-out',
    edits: [{ file: LEFT_OUT, find: 'found.equals(one.letter.identity)', replace: 'found.length === 0' }],
    test: 'test/integration/turns/discarded.test.ts',
    by: 'gone from the source, or in the target',
  },
  {
    name: 'changed-copy-is-deleted',
    edits: [
      {
        file: PUT,
        find: 'if (isChanged(context, seen, { left, body: null, isKnown: true }))',
        replace: 'if (left === undefined)',
      },
    ],
    test: STRANGERS,
    by: 'nothing is lost',
  },
  {
    name: 'missing-copy-is-created-again',
    edits: [
      { file: PUT, find: 'if (isThere && tries === 0 && context.checksCopies) return CHANGED;', replace: '' },
    ],
    test: STRANGERS,
    by: 'a copy is deleted before its document changes',
  },
  {
    name: 'own-write-counts-as-a-stranger',
    edits: [
      {
        file: 'src/engine/turn/left-copies.ts',
        find: 'return firstDifference(readCanonical(seen.document), readCanonical(body)) !== undefined;',
        replace: 'return true;',
      },
    ],
    test: STRANGERS,
    by: 'replies to our own writes are lost',
  },
  {
    name: 'strays-of-strangers-are-removed',
    edits: [
      {
        file: 'src/engine/letters/repair.ts',
        find: 'context.checksCopies ? [] : seenAt',
        replace: 'seenAt',
      },
    ],
    test: STRANGERS,
    by: 'a write while the writers are stopped',
  },
  {
    name: 'turn-begins-twice',
    edits: [{ file: BEGIN, find: 'if (next.begunAtMs !== null) {', replace: 'if (next.begunAtMs === -1) {' }],
    test: CRASH,
    by: 'the ledger of a turn is lost',
  },
  {
    name: 'begun-turn-is-not-marked',
    edits: [{ file: BEGIN, find: 'if (next.begunAtMs === null) markBegun(turn, nowMs);', replace: '' }],
    test: CRASH,
    by: 'the ledger of a turn is lost',
  },
  {
    name: 'turn-begins-before-the-switch',
    edits: [{ file: BEGIN, find: 'if (unfinished !== null) throw', replace: 'if (next.number < 0) throw' }],
    test: CRASH,
    by: 'the application was not switched over yet',
  },
  {
    name: 'ttl-of-the-kept-container-runs-on',
    edits: [
      {
        file: WAY_BACK,
        find: 'const hasTtl = pausedTtlIn(spec.ledger) !== null;',
        replace: 'const hasTtl = pausedTtlIn(spec.ledger) === -2;',
      },
    ],
    test: TTL,
    by: 'is paused, and restored',
  },
  {
    name: 'paused-ttl-is-not-restored',
    edits: [
      { file: WAY_BACK, find: 'if (ttl !== null) await setTtl', replace: 'if (ttl === -2) await setTtl' },
    ],
    test: TTL,
    by: 'is paused, and restored',
  },
  {
    name: 'tail-without-the-map',
    edits: [
      {
        file: 'src/engine/leases/run-leases.ts',
        find: '  await mapTarget(context, { signal: reading, onProgress: () => {} });\n',
        replace: '',
      },
    ],
    test: 'test/integration/turns/turns.test.ts',
    by: 'there again',
  },
  {
    name: 'first-writes-of-strangers-count-as-copies',
    edits: [{ file: SEARCH, find: 'unit.row({ ...row, copyEtag: CHANGED });', replace: 'void row;' }],
    test: STRANGERS,
    by: 'writes before the first reverse',
  },
  {
    name: 'kept-container-is-not-searched',
    edits: [
      {
        file: 'src/engine/turn/watch-closed.ts',
        find: 'if (!reading.aborted) await searchForStrangers',
        replace: 'if (reading.aborted) await searchForStrangers',
      },
    ],
    test: STRANGERS,
    by: 'found by the reverse stream',
  },
  {
    name: 'own-writes-are-taken-for-those-of-strangers',
    edits: [
      { file: SEARCH, find: 'if (isOurs || findings', replace: 'if (findings' },
      { file: SEARCH, find: 'return !isKnown(row, slot', replace: 'return isKnown(row, slot' },
    ],
    test: STRANGERS,
    by: 'nothing is found',
  },
  {
    name: 'next-owner-of-a-slot-is-a-stranger',
    edits: [
      {
        file: SEARCH,
        find: 'pending.rowOf(seen.identity.hash, null)',
        replace: 'pending.rowOf(identity.hash, null)',
      },
    ],
    test: STRANGERS,
    by: 'gives its slot',
  },
  {
    name: 'rollback-after-writes-of-strangers',
    edits: [
      {
        file: 'src/engine/cutover/gate.ts',
        find: 'if (found.length === 0) return;',
        replace: 'if (found.length >= 0) return;',
      },
    ],
    test: STRANGERS,
    by: 'found by the reverse stream, and the rollback refuses',
  },
  {
    name: 'finish-before-the-switch',
    edits: [
      {
        file: 'src/workflows/finish.ts',
        find: 'if (unfinished !== null) throw',
        replace: 'if (unfinished === undefined) throw',
      },
    ],
    test: TTL,
    by: 'the hook fails after times to live were changed',
  },
  {
    name: 'skips-a-hook-that-has-not-succeeded',
    edits: [
      {
        file: 'src/engine/cutover/after-commit.ts',
        find: 'if (onCommit === null && hasHook !== false',
        replace: 'if (onCommit === undefined && hasHook !== false',
      },
    ],
    test: TTL,
    by: 'the hook fails after times to live were changed',
  },
  {
    name: 'paused-ttl-stops-the-same-command',
    edits: [
      {
        file: 'src/state/migration.ts',
        find: "if (phase !== 'committed' && containers.sourceTtl",
        replace: 'if (containers.sourceTtl',
      },
    ],
    test: TTL,
    by: 'the hook fails after times to live were changed',
  },
  {
    name: 'writes-of-the-next-turn-are-late-writes',
    edits: [
      {
        file: 'src/engine/cutover/after-commit.ts',
        find: 'if ((ledger.nextTurn.read()?.begunAtMs ?? null) !== null)',
        replace: 'if (ledger.nextTurn.read()?.begunAtMs === 0)',
      },
    ],
    test: 'test/integration/turns/commands.test.ts',
    by: 'each side has what the application wrote',
  },
  {
    name: 'recreated-container-is-not-remembered',
    edits: [
      {
        file: 'src/engine/assemble.ts',
        find: 'ledger.journal.recreated() !== recreated',
        replace: 'ledger.journal.recreated() === recreated',
      },
    ],
    test: STRANGERS,
    by: 'is deleted and created again',
  },
];
