/**
 * Changes settings of the target after the commit. Invariant: a setting is changed only when the operator named it,
 * since an index may have been tuned on purpose, and enabling a TTL deletes documents at once.
 */
import { connectBoth } from '../cosmos/account/connect-both.ts';
import { differencesOf, type SettingDifference } from '../cosmos/container/settings.ts';
import { readContainer, type ContainerFacts } from '../cosmos/container/inspect.ts';
import type { ControlCall } from '../cosmos/account/control-plane.ts';
import { makeLike, type Changeable } from '../cosmos/container/update.ts';
import { Patience } from '../cosmos/load/retry.ts';
import { ruOf, throughputText } from '../cosmos/container/throughput.ts';
import type { SettingOutcome } from '../engine/cutover/contract.ts';
import type { RunParts } from '../engine/run.ts';
import { CosmigError, NotReadyError } from '../lib/errors.ts';
import type { ContainerAddress } from '../spec/migration-spec.ts';

/** The name of a setting for `--like-source`, by its name in a comparison of settings. */
const NAMES: Readonly<Record<string, Changeable>> = {
  TTL: 'ttl',
  indexing: 'indexing',
  throughput: 'throughput',
};

/** Changes the named settings to those of the source, and reports every other difference. */
export async function makeLikeSource(
  { spec, connections, clock, random, log, serviceTime }: RunParts,
  names: readonly string[],
  signal: AbortSignal,
): Promise<readonly SettingOutcome[]> {
  const call = (): ControlCall => ({ signal, patience: new Patience({ clock, random }) });
  using accounts = await connectBoth(connections, { signal, clock, log, serviceTime });
  const { source, target: account } = accounts;
  const from = existing(await readContainer(source, spec.source, call()), spec.source);
  const to = existing(await readContainer(account, spec.target, call()), spec.target);
  const outcomes: SettingOutcome[] = [];
  for (const difference of allDifferences(from, to, names)) {
    const name = NAMES[difference.setting];
    if (name === undefined || !names.includes(name)) {
      outcomes.push({ ...difference, outcome: 'reported', ...adviceFor(name) });
      continue;
    }
    try {
      await makeLike(account, { setting: name, source: from, target: to }, call());
      outcomes.push({ ...difference, outcome: 'asked' });
    } catch (error) {
      if (!(error instanceof CosmigError) || signal.aborted) throw error;
      outcomes.push({ ...difference, outcome: 'refused', why: `${error.message} (${error.why})` });
    }
  }
  return outcomes;
}

/**
 * Returns all differences in settings, including throughput: a throughput that was raised for the copy costs money as
 * long as it stays. A throughput that cosmig may not read is listed when the operator named it, since the operator
 * would otherwise believe that it was changed.
 */
function allDifferences(
  from: ContainerFacts,
  to: ContainerFacts,
  names: readonly string[],
): readonly SettingDifference[] {
  const listed = differencesOf({ facts: from, scripts: null }, { facts: to, scripts: null });
  const [source, target] = [ruOf(from.throughput), ruOf(to.throughput)];
  const isKnown = from.throughput.kind !== 'unknown' && to.throughput.kind !== 'unknown';
  // A difference in the kind of throughput is already in the list of `differencesOf`.
  const isDone = from.throughput.kind !== to.throughput.kind || source === target;
  if (isKnown ? isDone : !names.includes('throughput')) return listed;
  const texts = { source: throughputText(from.throughput), target: throughputText(to.throughput) };
  return [...listed, { setting: 'throughput', ...texts }];
}

function adviceFor(name: Changeable | undefined): { readonly why?: string } {
  return name === undefined ? {} : { why: `cosmig cutover --like-source ${name} makes it so` };
}

function existing(
  facts: ContainerFacts | undefined,
  { database, container }: ContainerAddress,
): ContainerFacts {
  if (facts !== undefined) return facts;
  throw new NotReadyError(`the container ${database}/${container} was deleted`, {
    why: 'it existed when the migration was committed',
    hint: 'there are no settings left to compare; cosmig status shows what was done',
  });
}
