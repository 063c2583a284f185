/**
 * Settings of the target after the commit. What always holds: one is changed only when it was asked for by name, since an
 * index that somebody has tuned is not ours to put back, and a lifetime that is switched on deletes at once.
 */
import { connect } from '../cosmos/account/client.ts';
import { differencesOf, type Difference } from '../cosmos/container/settings.ts';
import { readContainer, type ContainerFacts } from '../cosmos/container/inspect.ts';
import type { ControlCall } from '../cosmos/account/control-plane.ts';
import { makeLike, type Changeable } from '../cosmos/container/update.ts';
import { Patience } from '../cosmos/load/retry.ts';
import { ruOf, throughputText } from '../cosmos/container/throughput.ts';
import type { SettingOutcome } from '../engine/cutover/contract.ts';
import type { RunParts } from '../engine/run.ts';
import { CosmigError, NotReadyError } from '../lib/errors.ts';
import type { Place } from '../spec/migration-spec.ts';

/** As they are called where both sides are compared. */
const NAMES: Readonly<Record<string, Changeable>> = {
  TTL: 'ttl',
  indexing: 'indexing',
  throughput: 'throughput',
};

/** Makes those like the source's that are named, and tells where the target is another. */
export async function putLikeSource(
  { spec, connections, clock, random }: RunParts,
  names: readonly string[],
  signal: AbortSignal,
): Promise<readonly SettingOutcome[]> {
  const call = (): ControlCall => ({ signal, patience: new Patience({ clock, random }) });
  using source = await connect(connections.source, { signal });
  using other =
    connections.target === connections.source ? undefined : await connect(connections.target, { signal });
  const account = other ?? source;
  const from = found(await readContainer(source, nameOf(spec.source), call()), spec.source);
  const to = found(await readContainer(account, nameOf(spec.target), call()), spec.target);
  const told: SettingOutcome[] = [];
  for (const difference of allDifferences(from, to, names)) {
    const name = NAMES[difference.setting];
    if (name === undefined || !names.includes(name)) {
      told.push({ ...difference, outcome: 'told', ...adviceFor(name) });
      continue;
    }
    try {
      await makeLike(account, { setting: name, source: from, target: to }, call());
      told.push({ ...difference, outcome: 'asked' });
    } catch (error) {
      if (!(error instanceof CosmigError) || signal.aborted) throw error;
      told.push({ ...difference, outcome: 'refused', why: `${error.message} (${error.why})` });
    }
  }
  return told;
}

/**
 * Also how much is paid for: what was raised for the load costs as long as it stays. Where that may not be read it is told
 * to who has asked for it, who would take it for done.
 */
function allDifferences(
  from: ContainerFacts,
  to: ContainerFacts,
  names: readonly string[],
): readonly Difference[] {
  const found = differencesOf({ facts: from, scripts: null }, { facts: to, scripts: null });
  const [source, target] = [ruOf(from.throughput), ruOf(to.throughput)];
  const isKnown = from.throughput.kind !== 'unknown' && to.throughput.kind !== 'unknown';
  // Another kind was found above.
  const isTold = from.throughput.kind !== to.throughput.kind || source === target;
  if (isKnown ? isTold : !names.includes('throughput')) return found;
  const texts = { source: throughputText(from.throughput), target: throughputText(to.throughput) };
  return [...found, { setting: 'throughput', ...texts }];
}

function adviceFor(name: Changeable | undefined): { readonly why?: string } {
  return name === undefined ? {} : { why: `cosmig cutover --like-source ${name} makes it so` };
}

function nameOf({ database, container }: Place): { readonly database: string; readonly container: string } {
  return { database, container };
}

function found(facts: ContainerFacts | undefined, { database, container }: Place): ContainerFacts {
  if (facts !== undefined) return facts;
  throw new NotReadyError(`there is no container ${database}/${container} any more`, {
    why: 'it was there when the migration was committed',
    hint: 'nothing is left to compare; see cosmig status for what was done',
  });
}
