/**
 * The rules that a mover must not be without, each with the edit that takes it out of the engine. The names are those
 * of the model (test/model/mutations.ts). A text that is gone is a reason to look at the code.
 */
import type { Mutation } from '../model/mutations.ts';

/** A text that stands in a file exactly once, and what takes its place. */
export interface Edit {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export interface Patch {
  readonly name: Mutation;
  readonly edits: readonly Edit[];
}

/** A rule that is not the mover's, and that the model therefore does not know; a test must notice that it is missing. */
export interface Rule {
  readonly name: string;
  readonly edits: readonly Edit[];
  /** The file of the test, and what its name says. */
  readonly test: string;
  readonly by: string;
}

const APPLY = 'src/engine/apply/apply.ts';
const PLACE = 'src/engine/apply/put-in-slot.ts';
const SETTLE = 'src/engine/unit/settle.ts';
const LEASE = 'src/engine/leases/lease-reader.ts';
const UNIT = 'src/engine/unit/unit-of-work.ts';
const SEQUENCER = 'src/engine/unit/sequencer.ts';

export const PATCHES: readonly Patch[] = [
  {
    // As good as none: a resumed run does not read them.
    name: 'no-intent',
    edits: [
      {
        file: SETTLE,
        find: 'for (const page of pages) {',
        replace: 'for (const page of pages.slice(pages.length)) {',
      },
    ],
  },
  {
    name: 'unconditional-upsert',
    edits: [
      {
        file: 'src/documents/batch-body.ts',
        find: `bytesOf('{"operationType":"Create"`,
        replace: `bytesOf('{"operationType":"Upsert"`,
      },
    ],
  },
  {
    name: 'delete-without-owner-check',
    edits: [
      {
        file: PLACE,
        find: 'if (seen === null || !seen.identity.hash.equals(identity.hash)) {',
        replace: 'if (seen === null) {',
      },
    ],
  },
  {
    name: 'commit-before-acknowledgement',
    edits: [
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
    ],
  },
  {
    name: 'old-slot-deleted-first',
    edits: [
      {
        file: APPLY,
        find: '  let result = await putInSlot(put, first);',
        replace:
          '  if (moves) await removeIfOurs({ context, unit, identity, slot: old });\n  let result = await putInSlot(put, first);',
      },
    ],
  },
  {
    name: 'two-operations-in-flight',
    edits: [
      { file: SEQUENCER, find: '        turn.behind += 1;\n', replace: '' },
      {
        file: SEQUENCER,
        find: '    next.behind -= 1;\n    if (next.behind > 0) return;\n',
        replace: '    return;\n',
      },
    ],
  },
  {
    name: 'takeover-does-not-revoke',
    edits: [
      { file: PLACE, find: '      for (const from of taken) revoke(put, from);\n', replace: '' },
      {
        file: SETTLE,
        find: '  await settleEach(takeovers, async (claim, findings) => settleTakeover(context, claim, findings));\n',
        replace: '',
      },
    ],
  },
  {
    name: 'tombstones-dropped',
    edits: [
      {
        file: APPLY,
        find: "state: 'tombstone', ...nowhere, ...orderOf(change, row) });",
        replace: "state: 'tombstone', ...nowhere, ...orderOf(change, row), lsn: null });",
      },
    ],
  },
  {
    // Whatever a replica says is believed, however far behind the anchor it is.
    name: 'end-of-copy-on-304',
    edits: [
      {
        file: LEASE,
        find: '    if (anchorLsn !== null && (page.lsn ?? -1) < anchorLsn) throw new TroubleError(lagging(page));\n',
        replace: '',
      },
      {
        file: LEASE,
        find: '      sessionToken: () => tokenOf(sourceSide, range.range.id),\n',
        replace: '',
      },
    ],
  },
  {
    // As if the etag of the refusal were a position: what lies before it is never read.
    name: 'position-saved-after-410',
    edits: [
      {
        file: LEASE,
        find: "      return remap(sourceSide.ranges.list, this.#range()).changed ? 'split' : 'again';\n",
        replace: `      const at = { mode: this.#mode, range: this.#range() };
      const end = await endOf(this.#parts.context, at, reading).catch(() => undefined);
      const etag = end?.page.position.etag ?? this.#pipeline.position;
      this.#pipeline.position = etag;
      const move = this.#mode === 'latest-version' ? { lvPosition: etag } : { avadPosition: etag };
      this.#parts.context.ledger.leases.change(this.#lease.number, move);
      return remap(sourceSide.ranges.list, this.#range()).changed ? 'split' : 'again';
`,
      },
    ],
  },
  {
    name: 'no-wait-before-settling',
    edits: [
      {
        file: 'src/engine/apply/target-slots.ts',
        find: 'await clock.sleep(timing.requestTimeoutMs, signal);',
        replace: 'await clock.sleep(0, signal);',
      },
    ],
  },
];
