/**
 * Owns the cutover, the same in both directions: the fence, the drain up to the ends of the source, the comparison, the
 * last look, and the commit, one transaction with all that the next turn begins with. A crash before it backs out.
 */
import type { Process } from '../mover/process.ts';
import { reconcile } from '../mover/reconcile.ts';
import { STEP, type Steps } from '../mover/task.ts';
import { PLACES, type Source } from '../source.ts';
import type { Anchor } from './commit.ts';
import { Container } from './container.ts';
import { alarm, isSearched, strangeSlot } from './strangers.ts';

/** With waivers, a cutover does not wait for documents that the operator has given up. */
export function* cutOver(process: Process, target: Container, { waives }: { waives: boolean }): Steps {
  const { world, ledger } = process;
  const { source } = world;
  const isOpen = (): boolean => waives || process.openLetters().length === 0;
  yield { until: () => ledger.leases.length > 0 && ledger.leases.every(isTail) && isOpen() };
  world.fenced = true;
  for (;;) {
    yield STEP;
    const ends = endsOf(source);
    const early = anchorsIn(target.documents);
    yield { until: () => isDrained(process, ends) };
    if (world.scenario.deletes === 'reconcile') reconcile(process);
    yield { until: () => isQuiet(process) && isSearched(process) };
    const strange = strangeSlot(process);
    if (strange !== null) yield* alarm(process, strange);
    if (!isOpen()) {
      yield* restoreTtl(process);
      world.fenced = false;
      return;
    }
    yield STEP;
    if (!process.lacks('ttl-paused-after-the-commit')) yield* pauseTtl(process);
    const anchors = process.lacks('anchors-before-the-drain') ? early : anchorsIn(target.documents);
    const [last, count] = [endsOf(source), new Container(source).now.size];
    if (last.some((end, place) => end !== ends[place]) || !isQuiet(process) || !isOpen()) continue;
    if (!isSearched(process) || strangeSlot(process) !== null) continue;
    yield STEP;
    world.committed = { ledger, closed: source, anchors, ends, count, isTtlRestored: false, begun: false };
    if (!process.lacks('two-directions-alive')) world.stop();
    return;
  }
}

/** From here to the end of the next turn nothing expires on the side that is to be closed. */
export function* pauseTtl(process: Process): Steps {
  const { ledger, world } = process;
  if (!world.scenario.ttl || process.lacks('ttl-not-paused')) return;
  if (!process.lacks('pause-not-recorded')) ledger.pausesTtl = true;
  ledger.sync();
  yield STEP;
  world.source.pauseTtl(true);
}

/** Nothing was committed: the source stays in use, after a crash as well. */
export function* restoreTtl({ ledger, world }: Process): Steps {
  if (!ledger.pausesTtl) return;
  world.source.pauseTtl(false);
  yield STEP;
  ledger.pausesTtl = false;
}

function isTail({ phase }: { readonly phase: string }): boolean {
  return phase === 'tail';
}

/** The newest LSN of each place. */
export function endsOf(source: Source): number[] {
  return Array.from({ length: PLACES }, (_, place) => source.rangeAt(place).lsn);
}

function anchorsIn({ ranges }: Source): Anchor[] {
  return ranges.map(({ min, max, lsn }) => ({ min, max, lsn }));
}

function isDrained(process: Process, ends: readonly number[]): boolean {
  const { leases } = process.ledger;
  const isRead = leases.every(({ phase, min, max, avad, lv }) => {
    const position = process.world.scenario.deletes === 'avad' ? (avad ?? 0) : lv;
    return phase === 'tail' && ends.slice(min, max).every((end) => end <= position);
  });
  return isRead && isQuiet(process);
}

/** No page, no retry and no request is on the way. */
function isQuiet({ tasks, freed, world }: Process): boolean {
  const isBusy = [...tasks.keys()].some((name) => name.includes('/'));
  return !isBusy && freed.length === 0 && world.network.requests.length === 0;
}
