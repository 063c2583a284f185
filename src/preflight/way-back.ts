/**
 * Looks whether the application could return to the source after a cutover, before its writers are stopped. Invariants:
 * nothing is changed; and everything that would make a return impossible is found and named at once.
 */
import type { ContainerFacts } from '../cosmos/container/inspect.ts';
import type { Wait } from '../cosmos/load/retry.ts';
import { KEY_BYTES_ALERT, KEY_BYTES_MAX, largeKeys } from '../cosmos/container/large-keys.ts';
import { openSide, type Side, type SideName } from '../cosmos/side.ts';
import { ruOf, throughputText } from '../cosmos/container/throughput.ts';
import { ContainerRequests } from '../cosmos/transport/container-requests.ts';
import { formatCount, pluralize } from '../lib/counting.ts';
import { printableLine } from '../lib/json/printable.ts';
import { CosmigError, mapProblem, NotReadyError, type Problem } from '../lib/errors.ts';
import { swapWords } from '../spec/turns/swapped-sides.ts';
import { ttlText } from '../spec/refusals.ts';
import type { MigrationSpec } from '../spec/migration-spec.ts';
import type { DeleteMode } from '../state/migration.ts';
import type { Ledger } from '../state/ledger.ts';
import { rekeyOptionsOf } from '../spec/rekey-options.ts';
import { deletesFor } from './delete-mode.ts';
import { leftOut } from './left-out.ts';
import type { Asking } from './occupied.ts';
import { probe } from './permissions.ts';
import type { InspectParts } from './inspect.ts';

/** What the next turn needs to know, and what the operator should know of it. */
export interface WayBack {
  readonly deletes: DeleteMode;
  /** The default time to live of the source, which has to be paused while the source is kept; null: it has none. */
  readonly pausedTtl: number | null;
  readonly notes: readonly string[];
}

/** How many documents that could not go back a refusal names. */
const NAMED_MAX = 20;
/** How many large key values a note names. */
const KEYS_NAMED_MAX = 5;

type WayBackParts = Pick<InspectParts, 'spec' | 'connections' | 'accounts'> & {
  readonly source: ContainerFacts;
  readonly target: ContainerFacts;
  readonly ledger: Pick<Ledger, 'letters' | 'rows' | 'tokens' | 'targetTokens'>;
  readonly asking: () => Asking;
};

/** Throws a NotReadyError that lists why the application could not return. */
export async function checkWayBack(parts: WayBackParts): Promise<WayBack> {
  const { spec, source, target } = parts;
  const problems: Problem[] = [];
  const attempt = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof CosmigError)) throw error;
      const { message, why, hint } = error;
      // The checks read the container that changes are replicated from as the source. On the way back that is the target.
      problems.push(mapProblem({ from: '--keep-source-for', message, why, hint }, swapWords));
      return undefined;
    }
  };
  await attempt(async () => probe({ side: 'source', ...reach(parts, 'target') }));
  await attempt(async () => probe({ side: 'target', ...reach(parts, 'source') }));
  const found = await attempt(async () => deletesFor(spec, target, reach(parts, 'target')));
  problems.push(...(await waivedProblems(parts)), ...ttlProblems(parts));
  const [first] = problems;
  if (first !== undefined || found === undefined) {
    throw new NotReadyError('there would be no way back after this cutover', {
      problems,
      why: problems.map(({ message }) => message).join('; '),
      hint: `${problems.length === 1 ? first?.hint : 'fix what is named'}; or run the cutover without --keep-source-for (nothing was stopped)`,
    });
  }
  return {
    deletes: found.mode,
    pausedTtl: source.defaultTtl,
    notes: [
      ...found.notes.map((note) => swapWords(note)),
      ...notesOn(spec, { source, target }),
      ...(await fullKeyNotes(parts)),
    ],
  };
}

/** Returns what requests to a container need. */
function reach({ connections, accounts, asking, ...facts }: WayBackParts, side: 'source' | 'target') {
  const requests = new ContainerRequests(accounts[side], facts[side].name);
  return { requests, facts: facts[side], connection: connections[side], ...asking() };
}

/**
 * Documents that the operator gave up are in the source alone. On the way back they would look like documents that another
 * process has written there.
 */
async function waivedProblems(parts: WayBackParts): Promise<Problem[]> {
  const { spec, source, target, accounts, ledger, asking } = parts;
  const { clock, signal, patience, ...waiting } = asking();
  const open = async (is: SideName): Promise<Side> => {
    const budget = is === 'source' ? spec.sourceBudget : spec.targetBudget;
    const onWait = (wait: Wait): void => patience.report(wait);
    const facts = parts[is];
    return openSide(is, { account: accounts[is], facts, budget, onWait, clock, ...waiting }, signal);
  };
  const rekey = rekeyOptionsOf(spec, source, target);
  const { count, first } = await leftOut({ ledger, open, rekey, clock, signal }, NAMED_MAX);
  if (count === 0) return [];
  const named = first.map(({ id, sourceKey, reason }) => `${id} of ${sourceKey} (${reason})`).join(', ');
  const more = count > first.length ? ` and ${formatCount(count - first.length)} more` : '';
  const [are, their, each] =
    count === 1 ? ['is', 'its dead letter was', 'it'] : ['are', 'their dead letters were', 'each of them'];
  return [
    {
      from: '--keep-source-for',
      message: `${pluralize(count, 'document')} ${are} in the source, but not in the target, because ${their} discarded: ${named}${more}`,
      why: 'on the way back cosmig cannot distinguish them from documents that another process has written',
      hint: `delete ${each} in the source, or change it there so that cosmig tail can move it, and run the same cutover again`,
    },
  ];
}

function ttlProblems({ source, connections }: WayBackParts): Problem[] {
  if (source.defaultTtl === null || connections.source.signsInWith === 'key') return [];
  return [
    {
      from: '--keep-source-for',
      message: `documents of the source expire (${ttlText(source.defaultTtl)}), and this login cannot pause that`,
      why: 'while the source is not in use, it must not lose documents that are still in the target',
      hint: 'give the account key of the source, or switch its time to live off until the way back is no longer needed',
    },
  ];
}

/** Key values of the source that are close to the most that the service accepts. */
async function fullKeyNotes({ accounts, source, asking }: WayBackParts): Promise<string[]> {
  const found = await largeKeys(accounts.source, source.name, KEY_BYTES_ALERT, asking());
  if (found.length === 0) return [];
  const named = found
    .slice(0, KEYS_NAMED_MAX)
    .map(({ key, bytes }) => `${printableLine(key)} (${inGb(bytes)})`);
  const more = found.length > named.length ? ` and ${formatCount(found.length - named.length)} more` : '';
  const values = found.length === 1 ? 'a value of the old key is' : 'values of the old key are';
  return [
    `${values} near ${inGb(KEY_BYTES_MAX)} in the source, the most that it accepts: ${named.join(', ')}${more}; beyond that a document will not go back, and becomes a dead letter of cosmig reverse`,
  ];
}

function inGb(bytes: number): string {
  return `${Number((bytes / 1024 ** 3).toFixed(1))} GB`;
}

function notesOn(
  { derive, keepSourceKeyAs }: MigrationSpec,
  { source, target }: Pick<WayBackParts, 'source' | 'target'>,
): string[] {
  const notes: string[] = [];
  if (derive.length > 0) {
    const kept = keepSourceKeyAs === null ? '' : ` and ${keepSourceKeyAs}`;
    notes.push(
      `documents that the application writes to the target need what --derive would give them${kept}: without it a document will not go back, and becomes a dead letter of cosmig reverse`,
    );
  }
  if (source.defaultTtl !== null) {
    notes.push(
      `documents of the source expire (${ttlText(source.defaultTtl)}); that is paused after the commit, until cosmig rollback or cosmig finish`,
    );
  }
  const unique = source.settings.uniqueKeyPolicy;
  if (JSON.stringify(unique ?? {}).includes('"paths"')) {
    notes.push(
      'the source has unique keys: a document that breaks one of them will not go back, and becomes a dead letter of cosmig reverse',
    );
  }
  const [has, needs] = [ruOf(source.throughput), ruOf(target.throughput)];
  if (has !== undefined && needs !== undefined && has < needs) {
    notes.push(
      `the source has ${throughputText(source.throughput)}, less than the target: cosmig reverse keeps up with at most ${formatCount(has)} RU/s of writes`,
    );
  }
  return notes;
}
