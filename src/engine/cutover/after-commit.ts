/**
 * What follows the commit: settings of the target, the hook that points the application to it, and a look at the source
 * for late writes. What always holds: each is a line of the journal when it is done, and a run that died before does it
 * again; nothing here leads back, so trouble with one of them is told and does not keep the others from being done.
 */
import { troubleOf } from '../../cosmos/transport/trouble.ts';
import { Deadline } from '../../lib/abort.ts';
import { CosmigError, NotReadyError, ServiceError } from '../../lib/errors.ts';
import type { AfterParts, CutoverResult, SettingTold } from './contract.ts';
import { fenceOfLedger, IDS_MAX, readFence, stragglers, type Fence, type Straggler } from './source-ends.ts';
import type { RunContext } from '../context.ts';

/** Writers are stopped until the application is switched, so that it is not kept waiting for less. */
const SETTINGS_WITHIN_MS = 10_000;
/** Whoever asks much later gets to know what was done, and the source is not looked at any more. */
const LOOK_MAX_MS = 24 * 3600 * 1000;

export async function finish(
  context: RunContext,
  parts: AfterParts,
  { fence, signal }: { readonly fence: Fence | null; readonly signal: AbortSignal },
): Promise<CutoverResult> {
  const { ledger, clock } = context;
  const { onCommit, likeSource = [], say, onStep } = parts;
  onStep?.({ name: 'after the commit', stoppedAtMs: null });
  const { atMs, stoppedMs, asked, done } = committed(context);
  const note = (event: string, details: object = {}): void =>
    ledger.facts.note(event, { nowMs: clock.now(), details });
  // What was asked for with the commit is done once: later somebody may have changed it on purpose.
  const names = [...new Set([...(done.has('settings') ? [] : asked), ...likeSource])];
  const look = async (): Promise<Settled> => {
    const settled = await settle(parts, { names, signal });
    const { settings, trouble } = settled;
    const isSettled = trouble === undefined && settings.every(({ outcome }) => outcome !== 'refused');
    if (names.length > 0 && isSettled) note('settings', { names, settings });
    return settled;
  };
  // The application does not wait for what is only told.
  const asSwitched = names.length > 0 ? await look() : null;
  if (!done.has('switched')) {
    await onCommit(signal);
    note('switched');
  }
  const { settings, trouble } = asSwitched ?? (await look());
  onStep?.({ name: 'watching for late writes', stoppedAtMs: null });
  const isOver = done.has('watched');
  const isLongAgo = isOver && clock.now() - atMs > LOOK_MAX_MS;
  if (isLongAgo) say('the source is not looked at any more');
  const looking = isOver ? { ...parts, watchMs: 1 } : parts;
  const from = fence ?? fenceOfLedger(context);
  let lateWrites: readonly Straggler[] = [];
  try {
    if (!isLongAgo) lateWrites = await watch(context, looking, { from, signal });
  } catch (error) {
    if (!isForgotten(context, error)) throw error;
    // However often it is asked again.
    if (!isOver) note('watched', { isForgotten: true });
    throw forgotten(atMs, error);
  }
  if (!isOver) note('watched');
  return { committedAtMs: atMs, stoppedMs, settings, trouble: trouble ?? null, lateWrites };
}

interface Settled {
  readonly settings: readonly SettingTold[];
  readonly trouble?: CosmigError;
}

/** The application waits for its hook, whatever becomes of the settings. */
async function settle(
  { putRight, say }: AfterParts,
  { names, signal }: { readonly names: readonly string[]; readonly signal: AbortSignal },
): Promise<Settled> {
  if (putRight === undefined) return { settings: [] };
  using deadline = new Deadline(SETTINGS_WITHIN_MS, 'looking at the settings', signal);
  try {
    const settings = await putRight(names, deadline.signal);
    for (const one of settings) sayOfSetting(say, one);
    return { settings };
  } catch (error) {
    if (signal.aborted) throw error;
    const trouble = deadline.signal.aborted ? tooSlow() : error;
    if (!(trouble instanceof CosmigError)) throw trouble;
    say(`the settings of the target were not looked at: ${trouble.message}`);
    return { settings: [], trouble };
  }
}

function tooSlow(): ServiceError {
  return new ServiceError('the settings of the target could not be looked at in time', {
    why: `the service needed more than ${seconds(SETTINGS_WITHIN_MS)}, and the application was not to wait longer`,
    hint: 'the target is in use; run the same cosmig cutover once more for its settings',
  });
}

/** What the journal keeps with the commit; an older cosmig has written less. */
export interface Commitment {
  readonly stoppedMs: number;
  readonly likeSource: readonly string[];
}

/** What the journal says since the commit. */
function committed({ ledger }: RunContext): {
  readonly atMs: number;
  readonly stoppedMs: number;
  /** Settings that were asked for then. */
  readonly asked: readonly string[];
  readonly done: ReadonlySet<string>;
} {
  const done = new Set<string>();
  let asked: readonly string[] = [];
  let [atMs, stoppedMs] = [0, 0];
  const limit = 1000;
  for (let after = 0; ;) {
    const entries = ledger.facts.journal({ after, limit });
    for (const { event, atMs: at, details } of entries) {
      done.add(event);
      if (event !== 'phase committed') continue;
      const said = JSON.parse(details) as Partial<Commitment>;
      [atMs, stoppedMs, asked] = [at, said.stoppedMs ?? 0, said.likeSource ?? []];
    }
    const last = entries.at(-1);
    if (last === undefined || entries.length < limit) return { atMs, stoppedMs, asked, done };
    after = last.number;
  }
}

/** The feed of deletes does not know any more what it told until the commit. */
function isForgotten({ deletes }: RunContext, error: unknown): boolean {
  return deletes === 'avad' && troubleOf(error)?.status === 400;
}

function forgotten(committedAtMs: number, cause: unknown): NotReadyError {
  const at = new Date(committedAtMs).toISOString();
  return new NotReadyError('nobody can say any more who has written to the source since the commit', {
    why: 'its feed of all versions and deletes has forgotten what was not read since then, or is off',
    hint: `look in the source for documents with a _ts after ${at}, and mend those in the target; nothing else is left to do`,
    cause,
  });
}

/** Late writes are lost to the application: nothing brings them over any more. */
async function watch(
  context: RunContext,
  { watchMs, quietMs, say }: AfterParts,
  { from: first, signal }: { readonly from: Fence; readonly signal: AbortSignal },
): Promise<Straggler[]> {
  const late: Straggler[] = [];
  // What is written while it is looked at is seen once more the next time.
  const named = new Set<string>();
  let from = first;
  const endMs = context.clock.now() + watchMs;
  // Once at least, where it is to be watched at all.
  for (let isDue = watchMs > 0; isDue; isDue = context.clock.now() < endMs) {
    await context.clock.sleep(Math.max(1, Math.min(quietMs, endMs - context.clock.now())), signal);
    const to = await readFence(context, 'as told', signal);
    for await (const straggler of stragglers(context, { from, to }, signal)) {
      if (straggler.what === 'split') continue;
      const names = straggler.ids.map((id) => `${straggler.what} ${id}`);
      if (names.length > 0 && names.every((name) => named.has(name))) continue;
      for (const name of names) named.add(name);
      late.push(straggler);
      say(`LATE WRITE after the commit, not brought over: ${told(straggler)}`);
      context.ledger.facts.note('late write', { nowMs: context.clock.now(), details: straggler });
    }
    from = to;
  }
  return late;
}

function sayOfSetting(
  say: (text: string) => void,
  { setting, source, target, outcome, why }: SettingTold,
): void {
  if (outcome === 'asked')
    say(`${setting} of the target is like the source's now: ${source} (was ${target})`);
  if (outcome === 'refused')
    say(`${setting} of the target could not be made like the source's: ${why ?? ''}`);
}

export function told({ range, ids, what }: Straggler): string {
  const named = ids.length === 0 ? 'documents' : ids.join(', ');
  const others = ids.length < IDS_MAX ? '' : ' and perhaps others';
  return `${named}${others} ${what} in range ${range}`;
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
}
