/**
 * Every rule of the model, taken out of the engine: the names are those of the model (test/model/mutations.ts). The
 * engine's runs in the world of the model (test/model/engine) must notice each. A text that is gone is a reason to look
 * at the code.
 */
import { must } from '../../../src/lib/assert.ts';
import type { Mutation } from '../../model/mutations.ts';
import type { Edit, Rule } from './rule.ts';

const APPLY = 'src/engine/apply/apply.ts';
const PLACE = 'src/engine/apply/put-in-slot.ts';
const SETTLE = 'src/engine/unit/settle.ts';
const READER = 'src/engine/leases/lease-reader.ts';
const LEASE = 'src/engine/leases/lease-run.ts';
const LEASES = 'src/engine/leases/run-leases.ts';
const ANCHOR = 'src/engine/leases/anchor.ts';
const UNIT = 'src/engine/unit/unit-of-work.ts';
const PENDING = 'src/engine/unit/pending-outcomes.ts';
const RENAMES = 'src/engine/tail/renames.ts';
const SEQUENCER = 'src/engine/unit/sequencer.ts';
const PROMOTER = 'src/engine/letters/promoter.ts';
const EXECUTE = 'src/cosmos/bulk/execute.ts';
const UNITS = 'src/state/units.ts';

const EDITS: Readonly<Record<Mutation, readonly Edit[]>> = {
  // As good as none: a resumed run does not read them.
  'no-intent': [
    {
      file: SETTLE,
      find: 'for (const unit of units) {',
      replace: 'for (const unit of units.slice(units.length)) {',
    },
  ],
  'unconditional-upsert': [
    {
      file: 'src/documents/batch-body.ts',
      find: `bytesOf('{"operationType":"Create"`,
      replace: `bytesOf('{"operationType":"Upsert"`,
    },
  ],
  'delete-without-owner-check': [
    {
      file: PLACE,
      find: 'if (seen === null || !seen.identity.hash.equals(identity.hash)) {',
      replace: 'if (seen === null) {',
    },
  ],
  'commit-before-acknowledgement': [
    {
      file: UNIT,
      find: 'await orAborted(this.#done.promise, this.#context.signal);',
      replace: 'await orAborted(Promise.resolve(), this.#context.signal);',
    },
    {
      file: UNIT,
      find: "    assert(this.#open === 0, 'a unit is committed when every document has its outcome');\n",
      replace: '',
    },
    { file: UNIT, find: "    assert(!this.#committed, 'no outcome comes after the commit');\n", replace: '' },
  ],
  'old-slot-deleted-first': [
    {
      file: APPLY,
      find: '  let result = await putInSlot(put, first);',
      replace:
        '  if (moves) await removeIfOurs({ context, unit, identity, slot: old });\n  let result = await putInSlot(put, first);',
    },
  ],
  'two-operations-in-flight': [
    { file: SEQUENCER, find: '        turn.behind += 1;\n', replace: '' },
    {
      file: SEQUENCER,
      find: '    next.behind -= 1;\n    if (next.behind > 0) return;\n',
      replace: '    return;\n',
    },
  ],
  'takeover-does-not-revoke': [
    { file: PLACE, find: '      for (const from of taken) revoke(put, from);\n', replace: '' },
  ],
  'tombstones-dropped': [
    {
      file: APPLY,
      find: "state: 'tombstone', ...nowhere, ...orderOf(change, row) });",
      replace: "state: 'tombstone', ...nowhere, ...orderOf(change, row), lsn: null });",
    },
  ],
  // Whatever a replica says is believed, however far behind the anchor it is.
  'end-of-copy-on-304': [
    {
      file: READER,
      find: 'if (anchorLsn !== null && (page.lsn ?? -1) < anchorLsn)',
      replace: 'if (anchorLsn !== null && page.status !== 304 && (page.lsn ?? -1) < anchorLsn)',
    },
    {
      file: READER,
      find: '      sessionToken: () => tokenOf(sourceSide, range.range.id),\n',
      replace: '',
    },
  ],
  // As if the etag of the refusal were a position: what lies before it is never read.
  'position-saved-after-410': [
    {
      file: READER,
      find: "      return remap(sourceSide.ranges.list, this.#range()).changed ? 'split' : 'again';\n",
      replace: `      const [range = this.#range()] = remap(sourceSide.ranges.list, this.#range()).readers;
      const end = await endOf(this.#parts.context, { mode: this.#mode, range }, reading);
      const { etag } = end.page.position;
      this.#pipeline.position = etag;
      const move = this.#mode === 'latest-version' ? { lvPosition: etag } : { avadPosition: etag };
      this.#parts.context.ledger.leases.change(this.#lease.number, move);
      return remap(sourceSide.ranges.list, this.#range()).changed ? 'split' : 'again';
`,
    },
  ],
  'no-wait-before-settling': [
    {
      file: SETTLE,
      find: '  await clock.sleep(waitMs, stopping.signal);\n',
      replace: '  await clock.sleep(0, stopping.signal);\n',
    },
  ],
  // A change with an equal LSN is taken for new, and an older one is dropped.
  'order-by-guess': [
    {
      file: APPLY,
      find: "return !comparable || lsn > row.lsn ? 'new' : 'ask';",
      replace: "return !comparable || lsn >= row.lsn ? 'new' : 'replay';",
    },
  ],
  'avad-primed-after-copy': [
    {
      file: LEASE,
      find: "import { anchorAgain } from './anchor.ts';",
      replace: "import { anchorAgain, endOf } from './anchor.ts';",
    },
    {
      file: LEASE,
      find: '      this.#lease = this.#context.ledger.leases.endCopy(this.#lease.number, copiedLsn);\n',
      replace: `      const range = this.#context.sourceSide.ranges.partOf(this.#lease);
      const late = phase === 'copy' && this.#context.deletes === 'avad'
        ? { avadPosition: (await endOf(this.#context, { mode: 'all-versions', range }, this.#runs.reading)).page.position.etag }
        : {};
      this.#lease = this.#context.ledger.leases.change(this.#lease.number, { phase: 'tail', copiedLsn, ...late });
`,
    },
  ],
  // The tail begins although what was copied cannot be looked up yet.
  'avad-before-lv-ended': [
    {
      file: LEASES,
      find: "    await buildIndexes(context, reading);\n    enter(context, { phase: 'tailing', why: null });",
      replace: "    enter(context, { phase: 'tailing', why: null });",
    },
    {
      file: LEASES,
      find: '  await buildIndexes(context, reading);\n  await runEach(',
      replace: '  await runEach(',
    },
  ],
  'child-before-parent-done': [
    {
      file: READER,
      find: "      if (!(await this.#isDrained())) return 'stopped';",
      replace: "      if (end !== 'split' && !(await this.#isDrained())) return 'stopped';",
    },
    {
      file: 'src/state/leases.ts',
      find: 'this.#sql.inFlight.get(parent) === 0,',
      replace: 'this.#sql.inFlight.get(parent) !== null,',
    },
  ],
  'overrides-ignored': [
    {
      file: 'src/state/rows.ts',
      find: 'return (this.#sql.overrideOf.get(identity, slot) ?? -1) > sequence;',
      replace: 'return (this.#sql.overrideOf.get(identity, slot) ?? -1) > sequence && sequence < 0;',
    },
    {
      file: 'src/state/rows.ts',
      find: 'return this.#sql.overridden.all(first, last);',
      replace: 'return this.#sql.overridden.all(first, last).slice(0, 0);',
    },
  ],
  'stale-stays-where-unmapped': [
    {
      file: APPLY,
      find: 'const leaves = old !== null && (!isRight || context.unique.exist);',
      replace: 'const leaves = old !== null && isRight && context.unique.exist;',
    },
  ],
  'lagging-adjudication': [
    {
      file: EXECUTE,
      find: 'const sessionToken = isReading ? tokenOf(side, range) : undefined;',
      replace: "const sessionToken = isReading && side.is === 'target' ? tokenOf(side, range) : undefined;",
    },
  ],
  'promotion-forgotten': [
    {
      file: PROMOTER,
      find: '    if (!pending.anyLetters) return;\n',
      replace: '    if (pending.anyLetters || !pending.anyLetters) return;\n',
    },
  ],
  'letters-not-closed': [
    {
      file: 'src/engine/letters/dead-letters.ts',
      find: 'const isOpen = pending.anyLetters && pending.letterOf(hash) !== null;',
      replace: 'const isOpen = !pending.anyLetters && pending.letterOf(hash) !== null;',
    },
  ],
  'page-behind-anchor-accepted': [
    {
      file: READER,
      find: 'if (anchorLsn !== null && (page.lsn ?? -1) < anchorLsn)',
      replace: 'if (anchorLsn !== null && page.status === 304 && (page.lsn ?? -1) < anchorLsn)',
    },
    {
      file: READER,
      find: '      sessionToken: () => tokenOf(sourceSide, range.range.id),\n',
      replace: '',
    },
  ],
  'removal-without-intent': [
    {
      file: PLACE,
      find: "  if (!unit.claims(identity, slot)) await unit.begin([{ kind: 'remove', identity, slot }]);\n",
      replace: '',
    },
    {
      file: 'src/engine/tail/change-page.ts',
      find: "  return [...claims, { kind: 'remove', identity, slot: { hash: row.slot, key: row.targetKey } }];",
      replace: '  return claims;',
    },
  ],
  'lv-skipped-after-retention': [
    { file: ANCHOR, find: "    phase: 'recopy',\n", replace: "    phase: 'tail',\n" },
  ],
  'lv-restarts-where-it-ended': [
    {
      file: ANCHOR,
      find: 'lvPosition: lease.restartPosition ?? lease.lvPosition,',
      replace: 'lvPosition: lease.lvPosition,',
    },
  ],
  'deletes-not-swept-after-retention': [
    { file: ANCHOR, find: '    sweepPending: true,\n', replace: '    sweepPending: lease.sweepPending,\n' },
  ],
  'intent-not-durable': [
    {
      file: UNITS,
      find: '    this.#parts.transactions.durable(() => {\n      for (const intent of intents)',
      replace: '    this.#parts.transactions.run(() => {\n      for (const intent of intents)',
    },
  ],
  'session-token-not-in-intent': [
    {
      file: 'src/engine/assemble.ts',
      find: '  for (const { token } of ledger.tokens.all()) sourceSide.sessions.add(token);\n',
      replace: '',
    },
  ],
  'slot-read-behind-write': [
    {
      file: EXECUTE,
      find: '    const probed = this.#covered.has(range)\n',
      replace: "    const probed = range !== ''\n",
    },
  ],
  'settled-slot-forgotten': [
    {
      file: SETTLE,
      find: '  const isKnown = row !== null ||',
      replace: '  if (kept !== null || row === null) return;\n  const isKnown = row !== null ||',
    },
  ],
  'replay-does-not-raise-lsn': [
    { file: APPLY, find: '  unit.row({ ...row, ...orderOf(change, row) });\n', replace: '  void row;\n' },
  ],
  'letter-waits-from-commit': [
    {
      file: PENDING,
      find: "    for (const [key, letter] of this.#waiting.get(nameOf({ for: 'slot', slot })) ?? [])\n      if (!tried.has(key)) return letter;\n",
      replace: '',
    },
  ],
  'unique-letter-tried-once': [
    {
      file: APPLY,
      find: '    if (hasWaited) return;\n',
      replace: '    if (hasWaited || !hasWaited) return;\n',
    },
  ],
  'unique-promotion-by-slot': [
    {
      file: PROMOTER,
      find: 'if (given === null || unique.mayWant(letter.identity, given))',
      replace: 'if (letter.slot?.equals(slot.hash) === true)',
    },
  ],
  'stale-keeps-unique-value': [
    {
      file: APPLY,
      find: 'const leaves = old !== null && (!isRight || context.unique.exist);',
      replace: 'const leaves = old !== null && !isRight;',
    },
  ],
  'promotion-stops-at-first': [
    {
      file: PROMOTER,
      find: '      if (!took && !waits) this.#promoteNext(slot, new Set([...tried, mapKey(next.identity)]));\n',
      replace: '      void (took || waits);\n',
    },
  ],
  'commit-writes-old-outcome': [
    {
      file: UNIT,
      find: '    this.#context.pending.setRow(row);\n',
      replace:
        '    this.#context.pending.setRow(row);\n    (this.own ??= new Map()).set(mapKey(row.identity), row);\n',
    },
    {
      file: UNIT,
      find: '      rows: newest.flatMap(({ row }) => row ?? []),\n',
      replace: '      rows: [...(this.own ?? new Map()).values()],\n',
    },
  ],
  'takeover-without-intent': [
    {
      file: PLACE,
      find: "  await unit.begin([{ kind: 'takeover', identity: seen.identity, slot }]);\n",
      replace: '',
    },
  ],
  'point-read-without-intent': [
    {
      file: PLACE,
      find: "  if (!unit.claims(identity, slot)) await unit.begin([{ kind: 'write', identity, slot }]);\n",
      replace: '',
    },
  ],
  'override-ordered-by-intent': [
    {
      file: UNIT,
      find: '    if (copied !== undefined) this.#outcomes = copied.outcomes;\n',
      replace:
        '    if (copied !== undefined) this.#outcomes = copied.outcomes;\n    this.intended = this.#context.ledger.units.nextSequence();\n',
    },
    {
      file: UNIT,
      find: '    this.#outcomes[entry] = this.#context.ledger.units.nextSequence();\n',
      replace: '    this.#outcomes[entry] = this.intended;\n',
    },
    {
      file: UNIT,
      find: 'this.#outcomes[entry] = first + entry - from;',
      replace: 'this.#outcomes[entry] = first === 0 ? 0 : this.intended;',
    },
  ],
  'rename-not-noticed': [
    {
      file: RENAMES,
      find: 'if (row === null || row.lsn === null) return true;',
      replace: 'if (row === null || row.lsn === null) return false;',
    },
  ],
  'rename-looked-for-in-the-ledger-alone': [
    { file: RENAMES, find: 'if (before !== undefined) return before.isDeleted;', replace: '' },
  ],
  'rename-suspected-during-the-copy': [
    { file: RENAMES, find: 'lsn === null || lsn <= this.#copiedLsn ||', replace: 'lsn === null ||' },
  ],
  'settled-row-hides-a-rename': [
    {
      file: RENAMES,
      find: 'if (row === null || row.lsn === null) return true;',
      replace: 'if (row === null) return true;\n    if (row.lsn === null) return false;',
    },
  ],
  'oldest-event-skipped': [
    {
      file: SEQUENCER,
      find: 'const others = this.#others[turn.lockOne] ?? [];\n    const rivals',
      replace:
        'const others = [this.#first[turn.lockOne] ?? turn, ...(this.#others[turn.lockOne] ?? [])];\n    const rivals',
    },
  ],
};

const STORIES = 'test/model/engine/stories';

/** Rules that a test of one part notices. */
const TESTED: Readonly<Partial<Record<Mutation, readonly [file: string, by: string]>>> = {
  'rename-not-noticed': ['tail/renames', 'an unknown document'],
  'rename-looked-for-in-the-ledger-alone': ['tail/renames', 'created on a page in flight'],
  'rename-suspected-during-the-copy': ['tail/renames', 'changed while the range was copied'],
  'settled-row-hides-a-rename': ['tail/renames', 'settled after a crash'],
  'oldest-event-skipped': ['unit/sequencer', 'waits for a slot -> not superseded'],
};

/** The story that notices that a rule is missing: its file, and a part of its name. */
const NOTICED: Readonly<Partial<Record<Mutation, readonly [file: string, by: string]>>> = {
  'no-intent': ['intents', 'lands while the next run waits'],
  'unconditional-upsert': ['anchors', 'a copied document is deleted'],
  'delete-without-owner-check': ['slots', 'a repair of a deleted document'],
  'commit-before-acknowledgement': ['intents', 'lands while the next run waits'],
  'old-slot-deleted-first': ['slots', 'sees it at every moment'],
  'two-operations-in-flight': ['slots', 'waits for the one before'],
  'takeover-does-not-revoke': ['slots', 'whose delete no feed reports'],
  'tombstones-dropped': ['order', 'is deleted'],
  'end-of-copy-on-304': ['anchors', 'a 304 from a replica'],
  'position-saved-after-410': ['anchors', 'a split refuses a page'],
  'no-wait-before-settling': ['intents', 'lands while the next run waits'],
  'order-by-guess': ['order', 'in one transaction'],
  'avad-primed-after-copy': ['anchors', 'deleted while it is copied'],
  'avad-before-lv-ended': ['anchors', 'a copied document is deleted'],
  'child-before-parent-done': ['intents', 'a split while a page is in flight'],
  'overrides-ignored': ['intents', 'the copy takes a slot over'],
  'stale-stays-where-unmapped': ['slots', 'loses its key'],
  'lagging-adjudication': ['slots', 'from a replica that lags'],
  'promotion-forgotten': ['letters', 'the holder of a slot leaves'],
  'letters-not-closed': ['letters', 'the holder of a slot leaves'],
  'page-behind-anchor-accepted': ['anchors', 'a page of the copy from a replica'],
  'removal-without-intent': ['intents', 'crash after a removal'],
  'lv-skipped-after-retention': ['anchors', 'AVAD forgets a create'],
  'lv-restarts-where-it-ended': ['anchors', 'took a document back'],
  'deletes-not-swept-after-retention': ['anchors', 'AVAD forgets a delete'],
  'intent-not-durable': ['intents', 'power cut'],
  'session-token-not-in-intent': ['slots', 'the same in the next run'],
  'slot-read-behind-write': ['intents', 'deleted meanwhile -> the copy is removed'],
  'settled-slot-forgotten': ['intents', 'settled where it belongs'],
  'replay-does-not-raise-lsn': ['order', 'and lives'],
  'letter-waits-from-commit': ['letters', 'before the letter that waits for it is committed'],
  'unique-letter-tried-once': ['letters', 'between the refusal and the letter'],
  'unique-promotion-by-slot': ['letters', 'leaves another slot'],
  'stale-keeps-unique-value': ['letters', 'swap a unique value'],
  'promotion-stops-at-first': ['letters', 'has moved meanwhile'],
  'commit-writes-old-outcome': ['intents', 'not written back by the commit'],
  'takeover-without-intent': ['intents', 'crash after a takeover'],
  'point-read-without-intent': ['intents', 'the slot that a point read showed'],
  'override-ordered-by-intent': ['intents', 'lands after an override'],
};

export const MODEL_RULES: readonly Rule[] = Object.entries(EDITS).map(([name, edits]) => {
  const part = TESTED[name as Mutation];
  if (part !== undefined) return { name, edits, test: `test/unit/engine/${part[0]}.test.ts`, by: part[1] };
  const [file, by] = must(NOTICED[name as Mutation], 'a test or a story notices each rule');
  return { name, edits, test: `${STORIES}/${file}.test.ts`, by };
});
