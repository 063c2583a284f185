/**
 * Rule 1 of the apply rule: the changes of a document may be applied in any order and more than once, and what the source
 * has at last is what the target has.
 */
import { expect, test } from 'vitest';
import { apply, type Change } from '../../../../src/engine/apply/apply.ts';
import { AllChanges } from '../../../../src/engine/tail/change-reader.ts';
import { UnitOfWork } from '../../../../src/engine/unit/unit-of-work.ts';
import { must } from '../../../../src/lib/assert.ts';
import { drawn } from '../../../helpers/generated.ts';
import { slotOf, type Identity } from '../../source.ts';
import { envelope } from '../source-replies.ts';
import { Story } from './story.ts';

function permutations<T>(all: readonly T[]): T[][] {
  if (all.length <= 1) return [[...all]];
  return all.flatMap((one, at) => permutations(all.toSpliced(at, 1)).map((others) => [one, ...others]));
}

const ORDERS = permutations([0, 1, 2, 3]);

/** The changes of a document, as the feed of all versions shows them. */
function changesOf(story: Story, id: Identity): readonly Change[] {
  const { process, source, timers } = story.world;
  const { context } = must(must(process, 'the engine runs').tail, 'the tail has begun');
  const versions = source.versionsOf(id).map((version) => {
    const { lsn, op } = version;
    return envelope(story.world, { id, lsn, version: op === 'delete' ? null : version });
  });
  const page = Buffer.from(JSON.stringify({ _rid: 'x', Documents: versions, _count: versions.length }));
  const [lease] = context.ledger.leases.live();
  const options = { nowTs: timers.nowMs / 1000, indexId: must(lease, 'there is a lease').indexId };
  return new AllChanges(context).read(page, { ...options, anchorLsn: Infinity }).changes;
}

/** Applies changes one after another, each as a unit of work of its own, while the feed itself is held. */
async function applyEach(story: Story, changes: readonly (Change | undefined)[]): Promise<void> {
  const poll = await story.untilWaiting(/^AVAD/);
  const { context } = must(story.world.process?.tail, 'the tail has begun');
  for (const change of changes) {
    if (change === undefined) continue;
    const unit = new UnitOfWork(context, { lease: null, feed: 'AVAD' });
    const over = new AbortController();
    const applied = apply({ context, unit, change }).finally(() => over.abort());
    for (let n = 0; n < 100 && !over.signal.aborted; n += 1) await story.step(poll);
    await applied;
    unit.commit(null);
  }
}

function copiesOf(story: Story, id: Identity): unknown {
  return [...story.world.target.model.now].flatMap(([slot, { owner, content }]) =>
    owner === id ? [{ slot, content }] : [],
  );
}

function wanted(story: Story, id: Identity): unknown {
  const now = story.world.source.now(id);
  return now === null ? [] : [{ slot: slotOf(id, now), content: now.etag }];
}

const HISTORIES: Readonly<Record<string, (id: Identity) => readonly string[]>> = {
  'and lives': (id) => [`${id} create P`, `${id} move Q`, `${id} move P`, `${id} move Q`],
  'is deleted and comes back': (id) => [`${id} create P`, `${id} move Q`, `${id} delete`, `${id} create P`],
  'is deleted': (id) => [`${id} create P`, `${id} move Q`, `${id} touch`, `${id} delete`],
  'in one transaction': (id) => [`${id} create Q`, `${id} touch`, `${id} batch P`],
};

test.each(Object.keys(HISTORIES))(
  'engine: changes of a document that moves %s, in any order and twice -> the newest',
  async (name) => {
    // Half of the orders have each change first, last, and before each other one. One history has them all.
    const orders = drawn(ORDERS.filter((_order, n) => name === 'and lives' || n % 2 === 0));
    const identities = orders.map((_order, n) => `A${n}`);
    using story = new Story({ identities });
    await story.rest();
    await story.untilWaiting(/^AVAD/);
    for (const id of identities) for (const action of HISTORIES[name]?.(id) ?? []) story.do(`app ${action}`);
    const all = identities.map((id) => changesOf(story, id));
    const ordered = all.flatMap((changes, n) =>
      must(orders[n], 'each has an order').map((at) => changes[at]),
    );
    await applyEach(story, ordered);
    for (const id of identities) expect([id, copiesOf(story, id)]).toEqual([id, wanted(story, id)]);
    const reversed = all.flatMap((changes) => changes.toReversed());
    await applyEach(story, reversed);
    for (const id of identities) expect([id, copiesOf(story, id)]).toEqual([id, wanted(story, id)]);
    await story.rest();
  },
);
