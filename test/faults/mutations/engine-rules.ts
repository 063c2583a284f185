/** Rules of the engine that the model does not name, each with the edit that takes it out and the story that notices. */
import type { Edit, Rule } from './rule.ts';

const APPLY = 'src/engine/apply/apply.ts';
const PLACE = 'src/engine/apply/put-in-slot.ts';
const SLOTS = 'src/engine/apply/target-slots.ts';
const SETTLE = 'src/engine/unit/settle.ts';
const ANCHOR = 'src/engine/leases/anchor.ts';
const PIPELINE = 'src/engine/leases/page-pipeline.ts';
const COPY = 'src/engine/copy/copy-page.ts';
const EXECUTE = 'src/cosmos/bulk/execute.ts';
const BATCH = 'src/cosmos/bulk/batch-request.ts';

const EDITS = {
  'delete-without-etag': [
    {
      file: SLOTS,
      find: 'body.delete(slot.key, { id, ifMatch })',
      replace: 'body.delete(slot.key, { id, ...(ifMatch === NO_ETAG ? { ifMatch } : {}) })',
    },
  ],
  'refused-create-counts': [
    { file: COPY, find: 'if (outcome.value.status !== 201)', replace: 'if (outcome.value.status > 499)' },
  ],
  'refused-run-counts': [
    {
      file: BATCH,
      find: 'if (creates && haveCreated(replies, around.statusCode)) return CREATED;',
      replace: 'if (creates) return CREATED;',
    },
  ],
  'living-holder-replaced': [
    {
      file: PLACE,
      find: 'if (await stillMaps(context, seen.identity, slot))',
      replace: 'if (taken.length < 0 && (await stillMaps(context, seen.identity, slot)))',
    },
  ],
  'deleted-copy-stays': [
    {
      file: APPLY,
      find: "old === null ? 'empty' : await removeIfOurs({ context, unit, identity, slot: old });\n  if (end === 'changed')",
      replace: "'empty' as string;\n  if (end === 'changed')",
    },
  ],
  'moved-copy-stays': [
    {
      file: APPLY,
      find: "    context.points.reach('moved');\n    await removeIfOurs({ context, unit, identity, slot: old });\n",
      replace: "    context.points.reach('moved');\n",
    },
  ],
  'unnamed-delete-forgotten': [
    {
      file: PIPELINE,
      find: 'const misses = hasRenamed || (changes?.unnamed ?? 0) > 0;',
      replace: 'const misses = hasRenamed;',
    },
  ],
  'failed-intent-counts': [
    {
      file: 'src/state/intent-group.ts',
      find: 'for (const { reject } of waiting) reject(error);',
      replace: 'void error;\n      for (const { resolve } of waiting) resolve();',
    },
  ],
  'letters-not-retried-at-first': [
    {
      file: 'src/engine/leases/run-leases.ts',
      find: '  tasks.start(async () => promoter.retryWaiting(reading));\n  if (isCopying(phase)) {',
      replace: '  if (isCopying(phase)) {',
    },
  ],
  'settled-takeover-believed': [
    {
      file: SETTLE,
      find: 'if (seen?.identity.hash.equals(identity) === true) return [claim];',
      replace: 'if (seen === undefined) return [claim];',
    },
  ],
  'commit-after-abort': [
    {
      file: 'src/engine/cutover/cutover.ts',
      find: '    reading.throwIfAborted();\n',
      replace: '    void reading;\n',
    },
  ],
  'commit-during-a-retry': [
    {
      file: 'src/engine/cutover/cutover.ts',
      find: 'ends === null || isApplying(context)',
      replace: 'ends === null || (isApplying(context) && attempt.reading.aborted)',
    },
  ],
  'anchor-before-primed': [
    {
      file: ANCHOR,
      find: "  const primed = await read('all-versions');\n  const reached = await read('latest-version');\n",
      replace: "  const reached = before;\n  const primed = await read('all-versions');\n",
    },
    {
      file: ANCHOR,
      find: 'Math.max(reached.lsn, primed.lsn)',
      replace: 'reached.lsn',
    },
  ],
  'anchor-of-the-feed-alone': [
    { file: ANCHOR, find: 'Math.max(reached.lsn, primed.lsn)', replace: 'reached.lsn' },
  ],
  'outcomes-not-counted': [
    {
      file: BATCH,
      find: '  if (replies.count !== count)\n',
      replace: '  if (replies.count > count)\n',
    },
    {
      file: BATCH,
      find: 'for (let row = 0; row < count; row += 1) {',
      replace: 'for (let row = 0; row < replies.count; row += 1) {',
    },
    {
      file: EXECUTE,
      find: "const reply = must(outcomes[row], 'a reply has an outcome for each operation');",
      replace: "const reply = outcomes[row] ?? { kind: 'done', status: 201, substatus: 0, chargeRu: 0 };",
    },
  ],
  'intent-answered-before-written': [
    {
      file: 'src/state/intent-group.ts',
      find: '      this.#waiting.push({ intent, resolve, reject });\n',
      replace: '      this.#waiting.push({ intent, resolve, reject });\n      resolve();\n',
    },
  ],
  'write-before-intent': [
    {
      file: PLACE,
      find: "  if (!unit.claims(identity, slot)) await unit.begin([{ kind: 'write', identity, slot }]);\n",
      replace:
        "  if (!unit.claims(identity, slot)) void unit.begin([{ kind: 'write', identity, slot }]).catch(() => {});\n",
    },
  ],
  'copied-before-intent': [
    {
      file: COPY,
      find: 'if (count > 0) await unit.begin([], { indexId, parts, outcomes });',
      replace: 'if (count > 0) void unit.begin([], { indexId, parts, outcomes }).catch(() => {});',
    },
  ],
  'changed-before-intent': [
    {
      file: 'src/engine/tail/change-page.ts',
      find: 'if (claims.length > 0) await unit.begin(claims);',
      replace: 'if (claims.length > 0) void unit.begin(claims).catch(() => {});',
    },
  ],
  'removed-before-intent': [
    {
      file: PLACE,
      find: "  if (!unit.claims(identity, slot)) await unit.begin([{ kind: 'remove', identity, slot }]);\n",
      replace:
        "  if (!unit.claims(identity, slot)) void unit.begin([{ kind: 'remove', identity, slot }]).catch(() => {});\n",
    },
  ],
  'takeover-before-intent': [
    {
      file: PLACE,
      find: "  await unit.begin([{ kind: 'takeover', identity: seen.identity, slot }]);\n",
      replace: "  void unit.begin([{ kind: 'takeover', identity: seen.identity, slot }]).catch(() => {});\n",
    },
  ],
  'stranger-taken-for-ours': [
    {
      file: PLACE,
      find: '  if (row !== null) return row.slot !== null && row.slot.equals(slot.hash);\n',
      replace: '  if (row === null || row.slot === null || row.slot.equals(slot.hash)) return true;\n',
    },
  ],
  'equal-lsn-is-new': [
    {
      file: APPLY,
      find: "return !comparable || lsn > row.lsn ? 'new' : 'ask';",
      replace: "return !comparable || lsn >= row.lsn ? 'new' : 'ask';",
    },
  ],
  'older-lsn-is-new': [
    {
      file: APPLY,
      find: "return !comparable || lsn > row.lsn ? 'new' : 'ask';",
      replace: "return !comparable || lsn !== row.lsn ? 'new' : 'ask';",
    },
  ],
  'lsn-goes-back': [
    {
      file: APPLY,
      find: 'return { feed, lsn: row?.feed === feed ? Math.max(row.lsn ?? 0, lsn) : lsn };',
      replace: 'return { feed, lsn };',
    },
  ],
  'letter-of-a-deleted-document': [
    {
      file: APPLY,
      find: '...nowhere, ...orderOf(change, row) });\n  closeLetter(context, unit, identity);\n',
      replace: '...nowhere, ...orderOf(change, row) });\n',
    },
  ],
  'unique-letter-waits-for-any-value': [
    {
      file: APPLY,
      find: 'return waitsHere && context.unique.wants(identity.hash, context.unique.valuesOf(body));',
      replace: 'return waitsHere && body.length > 0;',
    },
  ],
  'unique-letters-not-retried': [
    {
      file: 'src/engine/letters/promoter.ts',
      find: '    if (!unique.exist || given?.length === 0) return;\n',
      replace: '    if (unique.exist || given?.length === 0) return;\n',
    },
  ],
  'position-behind-the-anchor': [
    {
      file: PIPELINE,
      find: 'const isWhole = copied?.beyond !== true && changes?.beyond !== true;',
      replace: 'const isWhole = copied !== undefined || changes !== undefined || page.status > 0;',
    },
  ],
  'no-token-after-ambiguity': [{ file: SLOTS, find: '    this.#executor.giveUpSessions();\n', replace: '' }],
  'no-wait-after-ambiguity': [{ file: SLOTS, find: '        await this.waitOutTimeout();\n', replace: '' }],
  'copied-and-not-waited': [
    {
      file: COPY,
      find: "      if (begun.written === 'ambiguous') await context.slots.waitOutTimeout();\n",
      replace: '',
    },
  ],
  'etag-kept-by-settle': [
    { file: SETTLE, find: '      etag: null,\n', replace: '      etag: row?.etag ?? null,\n' },
  ],
  'settled-takeover-forgotten': [
    {
      file: SETTLE,
      find: '  await settleEach(takeovers, async (claim, findings) => settleTakeover(context, claim, findings));\n',
      replace: '',
    },
  ],
  'children-forget-the-sweep': [
    {
      file: 'src/engine/leases/lease-run.ts',
      find: '({ ...inherited, rangeId: range.id, min, max })',
      replace: '({ ...inherited, sweepPending: false, rangeId: range.id, min, max })',
    },
  ],
  'settle-forgets-the-slot-of-the-row': [
    {
      file: SETTLE,
      find: '    candidates.set(mapKey(row.slot), { hash: row.slot, key: row.targetKey });\n',
      replace: '    void row;\n',
    },
  ],
  'settled-in-two-slots': [
    {
      file: SETTLE,
      find: 'if (wanted !== null && wanted.hash.equals(slot.hash)) kept = slot;',
      replace: 'if (wanted !== null) kept = slot;',
    },
  ],
  'replace-without-etag': [
    {
      file: SLOTS,
      find: 'body.replace(slot.key, { id: idOf(identity), ifMatch: etag })',
      replace: 'body.replace(slot.key, { id: idOf(identity), ...(etag === "" ? { ifMatch: etag } : {}) })',
    },
  ],
  'commits-out-of-order': [
    {
      file: PIPELINE,
      find: '    await orAborted(previous, context.signal);\n',
      replace: '    void previous;\n',
    },
    {
      file: 'src/state/units.ts',
      find: "      assert(oldest >= unit, 'a position moves when all older pages of its lease are committed');\n",
      replace: '      void oldest;\n',
    },
  ],
  'retry-shared-with-one-that-began': [
    {
      file: 'src/engine/letters/promoter.ts',
      find: 'if (begun === undefined) return this.#begin(key, letter);',
      replace: 'if (begun !== undefined) return begun;\n      return this.#begin(key, letter);',
    },
  ],
  'children-forget-their-parents': [
    {
      file: 'src/cosmos/feed/session-tokens.ts',
      find: 'return this.#join([...range.parents, range.id]);',
      replace: 'return this.#join([range.id]);',
    },
  ],
  'equal-event-superseded': [
    {
      file: 'src/engine/unit/sequencer.ts',
      find: ' && other.order.lsn !== lsn,',
      replace: ',',
    },
  ],
} satisfies Readonly<Record<string, readonly Edit[]>>;

const STORIES = 'test/model/engine/stories';

const NOTICED: Readonly<Record<keyof typeof EDITS, readonly [file: string, by: string]>> = {
  'commit-after-abort': ['cutover', 'no commit once writers resume'],
  'commit-during-a-retry': ['commit', 'still in flight'],
  'delete-without-etag': ['slots', 'between read and delete'],
  'refused-create-counts': ['intents', 'the copy takes a slot over'],
  'refused-run-counts': ['intents', 'the copy takes a slot over'],
  'living-holder-replaced': ['letters', 'the holder of a slot leaves'],
  'deleted-copy-stays': ['anchors', 'a copied document is deleted'],
  'moved-copy-stays': ['order', 'and lives'],
  'unnamed-delete-forgotten': ['anchors', 'does not name its document'],
  'failed-intent-counts': ['full-disk', 'a page of the copy'],
  'letters-not-retried-at-first': ['letters', 'the next run tries it again'],
  'settled-takeover-believed': ['intents', 'a takeover never took place'],
  'anchor-before-primed': ['anchors', 'after the anchor was looked for'],
  'anchor-of-the-feed-alone': ['anchors', 'from a replica behind AVAD'],
  'outcomes-not-counted': ['slots', 'one outcome is missing'],
  'intent-answered-before-written': ['full-disk', 'a page of the copy'],
  'write-before-intent': ['full-disk', 'a slot that only'],
  'copied-before-intent': ['full-disk', 'a page of the copy'],
  'changed-before-intent': ['full-disk', 'a page of the tail'],
  'removed-before-intent': ['full-disk', 'a removal'],
  'takeover-before-intent': ['full-disk', 'a takeover'],
  'stranger-taken-for-ours': ['slots', 'looks like a source document'],
  'equal-lsn-is-new': ['order', 'in one transaction'],
  'older-lsn-is-new': ['order', 'and lives'],
  'lsn-goes-back': ['order', 'and lives'],
  'letter-of-a-deleted-document': ['letters', 'the document of a letter is deleted'],
  'unique-letter-waits-for-any-value': ['letters', 'wants another that is given up'],
  'unique-letters-not-retried': ['letters', 'leaves another slot'],
  'position-behind-the-anchor': ['anchors', 'shares a page with the copy'],
  'no-token-after-ambiguity': ['slots', 'the reply to a takeover is lost'],
  'no-wait-after-ambiguity': ['slots', 'the reply to a write of the tail is lost'],
  'copied-and-not-waited': ['slots', 'the reply to a create of the copy is lost'],
  'etag-kept-by-settle': ['intents', 'the newer one is not a replay'],
  'settled-takeover-forgotten': ['intents', 'crash after a takeover'],
  'children-forget-the-sweep': ['anchors', 'and the range splits'],
  'settle-forgets-the-slot-of-the-row': ['intents', 'while a repair moves a document'],
  'settled-in-two-slots': ['intents', 'between the new slot and the old one'],
  'replace-without-etag': ['slots', 'another writer changes a copy'],
  'commits-out-of-order': ['intents', 'a newer page is done before'],
  'retry-shared-with-one-that-began': ['letters', 'while a retry is being refused'],
  'children-forget-their-parents': ['slots', 'in a range that was split'],
  'equal-event-superseded': ['slots', 'two versions of one transaction'],
};

export const ENGINE_RULES: readonly Rule[] = Object.entries(EDITS).map(([name, edits]) => {
  const [file, by] = NOTICED[name as keyof typeof EDITS];
  return { name, edits, test: `${STORIES}/${file}.test.ts`, by };
});

/** Rules that no story meets: of whole pages, restored ledgers, derived keys, and of what follows a comparison. */
export const REPAIR_RULES: readonly Rule[] = [
  {
    name: 'page-held-over-a-turn',
    edits: [
      {
        file: 'src/engine/unit/sequencer.ts',
        find: 'if (!locks.add(words, identity, IDENTITY)) return i;',
        replace: 'if (!locks.add(words, identity, IDENTITY)) continue;',
      },
    ],
    test: 'test/unit/engine/unit/sequencer.test.ts',
    by: 'random pages and turns',
  },
  {
    name: 'change-without-lsn-skipped',
    edits: [
      {
        file: 'src/engine/tail/change-reader.ts',
        find: '      if (lsn === null) throw lsnMissing();\n      lastTs',
        replace: '      if (lsn === null) continue;\n      lastTs',
      },
    ],
    test: 'test/unit/engine/tail/change-reader.test.ts',
    by: 'a change without an LSN',
  },
  {
    name: 'copy-goes-on-while-writers-write',
    edits: [
      {
        file: 'src/engine/copy/copy-reader.ts',
        find: 'if (lsn > anchorLsn) {',
        replace: 'if (lsn > anchorLsn + 1e9) {',
      },
    ],
    test: 'test/integration/copy/copy.test.ts',
    by: 'writes while each page is read',
  },
  {
    name: 'caught-up-one-change-early',
    edits: [
      {
        file: 'src/engine/leases/lease-reader.ts',
        find: 'reachedLsn >= goalLsn',
        replace: 'reachedLsn >= goalLsn - 1',
      },
    ],
    test: 'test/integration/tail/tail.test.ts',
    by: 'the last change is alone on its page',
  },
  {
    name: 'unreadable-id-counts-as-deleted',
    edits: [
      {
        file: 'src/engine/apply/source-documents.ts',
        find: "return value === 'unreadable' ? UNREADABLE : value;",
        replace: "return value === 'unreadable' ? 'gone' : value;",
      },
    ],
    test: 'test/integration/dead-letters/reasons.test.ts',
    by: 'the service refuses to read an id',
  },
  {
    name: 'repair-removes-what-it-wrote',
    edits: [
      {
        file: 'src/engine/letters/repair.ts',
        find: 'if (pending.rowOf(identity.hash, null)?.slot?.equals(slot.hash) === true) return;',
        replace: 'void pending;',
      },
      {
        file: 'src/engine/letters/repair.ts',
        find: "if (version !== 'gone' && version.slot?.hash.equals(slot.hash) === true) return;",
        replace: 'void version;',
      },
    ],
    test: 'test/integration/copy/strangers.test.ts',
    by: 'changed our copy where it belongs',
  },
  {
    name: 'restored-ledger-not-swept',
    edits: [
      {
        file: 'src/engine/restored-ledger.ts',
        find: 'if (!sweepPending) ledger',
        replace: 'if (sweepPending) ledger',
      },
    ],
    test: 'test/integration/copy/restored-ledger.test.ts',
    by: 'a comparison is due',
  },
  {
    name: 'restored-ledger-not-waited-for',
    edits: [
      {
        file: 'src/engine/restored-ledger.ts',
        find: "  ledger.runs.noteRequest('unknown');\n",
        replace: '',
      },
    ],
    test: 'test/integration/copy/restored-ledger.test.ts',
    by: 'waits for the requests of the runs that are missing',
  },
  {
    name: 'key-of-a-stranger-not-compared',
    edits: [
      {
        file: 'src/engine/apply/slot-owner.ts',
        find: 'if (this.#rekey === undefined) return false;',
        replace: 'if (this.#rekey !== null) return false;',
      },
    ],
    test: 'test/integration/copy/strangers.test.ts',
    by: 'another key value into our copy',
  },
  {
    name: 'sweep-forgotten-without-proof',
    edits: [
      {
        file: 'src/workflows/repair.ts',
        find: 'if (verdict.equal === true && swept.length > 0)',
        replace: 'if (swept.length > 0)',
      },
    ],
    test: 'test/integration/verify/command/sweep.test.ts',
    by: 'a comparison is still due',
  },
];
