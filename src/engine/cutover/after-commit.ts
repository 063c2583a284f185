/**
 * Does what follows the commit: applies settings to the target, calls the hook that switches the application over, and
 * watches the source for late writes. Invariant: each step is noted in the journal when it is done, so after a crash the
 * next run does only the missing steps. Nothing here undoes the commit: trouble with settings is reported and stops no
 * other step.
 */
import { troubleOf } from '../../cosmos/transport/trouble.ts';
import { Deadline } from '../../lib/abort.ts';
import { must } from '../../lib/assert.ts';
import { AfterCommitError, CosmigError } from '../../lib/errors.ts';
import { formatTs } from '../../lib/clock.ts';
import type { AfterCommitOptions, CutoverResult, SettingOutcome } from './contract.ts';
import { committedEnds, readSourceEnds, stragglers, type SourceEnds, type Straggler } from './source-ends.ts';
import { LATE_WRITES_MS } from '../../spec/timing.ts';
import { describeChange } from '../../state/source-change.ts';
import { formatSeconds } from './wording.ts';
import type { Committed } from '../../state/journal.ts';
import type { RunContext } from '../context.ts';

/** The time limit for applying settings: the application stays stopped until these are done. */
const SETTINGS_MAX_MS = 10_000;

/**
 * Does the steps that are still missing. `ends`: where the source ended at the commit; null if an earlier run committed.
 */
export async function finishAfterCommit(
  context: RunContext,
  options: AfterCommitOptions,
  { ends, signal }: { readonly ends: SourceEnds | null; readonly signal: AbortSignal },
): Promise<CutoverResult> {
  const { ledger, clock } = context;
  const { onCommit, likeSource = [], onStep } = options;
  onStep?.({ name: 'after the commit', stoppedAtMs: null });
  const { journal } = ledger;
  const {
    atMs,
    stoppedMs,
    likeSource: asked,
    proof,
    repaired,
    hasHook,
    since,
  } = must(journal.commit(), 'the migration is committed');
  if (onCommit === null && hasHook !== false && !since.has('application switched'))
    throw hookMissing(hasHook);
  // Settings requested with the commit are applied once: the operator may change them on purpose later.
  const names = [...new Set([...(since.has('target settings applied') ? [] : asked), ...likeSource])];
  const applySettings = async (): Promise<Settings> => {
    const found = await applyInTime(options, { names, signal });
    const { settings, trouble } = found;
    const isDone = trouble === null && settings.every(({ outcome }) => outcome !== 'refused');
    if (names.length > 0 && isDone)
      journal.append({ event: 'target settings applied', settings: names }, clock.now());
    return found;
  };
  // The target may still have documents that expired while its time to live was paused, so that comes before the switch.
  const ttl = await changeTtl(context, options, { since, signal });
  // Requested settings are applied before the switch. If none are requested, the differences are only reported, and
  // only after the switch, so that the application does not wait for the report.
  const early = names.length > 0 ? await applySettings() : null;
  if (!since.has('application switched')) {
    await onCommit?.(signal);
    journal.append({ event: 'application switched' }, clock.now());
  }
  const { settings, trouble } = early ?? (await applySettings());
  onStep?.({ name: 'watching for late writes', stoppedAtMs: null });
  const wasWatched = since.has('late write watch ended');
  const lateWrites = await watchOnce(context, options, { ends, atMs, wasWatched, signal });
  if (!wasWatched) journal.append({ event: 'late write watch ended', isForgotten: false }, clock.now());
  const isSwitched = onCommit !== null || hasHook === true;
  const result = { committedAtMs: atMs, stoppedMs, proof, repaired, settings, lateWrites, isSwitched };
  return { ...result, trouble: ttl ?? trouble };
}

/** The refusal of a run without the hook that has to switch the application: skipping it would leave the source in use. */
function hookMissing(hasHook: true | null): AfterCommitError {
  return new AfterCommitError('the target is in use, but the command of --on-commit has not succeeded yet', {
    why: `the commit was made ${hasHook === true ? 'with that command' : 'perhaps with that command'}, and this run was started without it`,
    hint: 'run cosmig cutover again with the same --on-commit; if you have switched the application to the target yourself, with --on-commit true',
  });
}

/** Restores and pauses times to live. Returns trouble instead of throwing it, because the application waits. */
async function changeTtl(
  { ledger, clock }: RunContext,
  { ttl = {}, say }: AfterCommitOptions,
  { since, signal }: Pick<Committed, 'since'> & { readonly signal: AbortSignal },
): Promise<CosmigError | null> {
  const steps = [
    { event: 'ttl restored', change: ttl.restore },
    { event: 'ttl paused', change: ttl.pause },
  ] as const;
  for (const { event, change } of steps) {
    if (change === undefined || since.has(event)) continue;
    using deadline = new Deadline(SETTINGS_MAX_MS, 'changing the time to live', signal);
    try {
      if (await change(deadline.signal)) ledger.journal.append({ event }, clock.now());
    } catch (error) {
      if (signal.aborted || !(error instanceof CosmigError)) throw error;
      say(`the time to live was not changed: ${error.message}`);
      return error;
    }
  }
  return null;
}

interface Settings {
  readonly settings: readonly SettingOutcome[];
  readonly trouble: CosmigError | null;
}

/**
 * Applies settings within a time limit. Returns trouble instead of throwing it, because the application waits for its
 * hook.
 */
async function applyInTime(
  { applySettings, say }: AfterCommitOptions,
  { names, signal }: { readonly names: readonly string[]; readonly signal: AbortSignal },
): Promise<Settings> {
  if (applySettings === undefined) return { settings: [], trouble: null };
  using deadline = new Deadline(SETTINGS_MAX_MS, 'checking the settings', signal);
  try {
    const settings = await applySettings(names, deadline.signal);
    for (const one of settings) reportSetting(say, one);
    return { settings, trouble: null };
  } catch (error) {
    if (signal.aborted) throw error;
    const trouble = deadline.signal.aborted ? settingsTooSlow() : error;
    if (!(trouble instanceof CosmigError)) throw trouble;
    say(`the settings of the target were not checked: ${trouble.message}`);
    return { settings: [], trouble };
  }
}

function settingsTooSlow(): AfterCommitError {
  return new AfterCommitError('the target is in use, but its settings could not be checked in time', {
    why: `the service needed more than ${formatSeconds(SETTINGS_MAX_MS)}, and the application must not wait longer`,
    hint: 'run the same cosmig cutover again for its settings',
  });
}

interface Watching {
  readonly ends: SourceEnds | null;
  readonly atMs: number;
  readonly wasWatched: boolean;
  readonly signal: AbortSignal;
}

/**
 * Watches for late writes during `watchMs`. A later run only looks once, and after a day not at all. When the next turn has
 * begun, what is new in the source may be its own; it looks for writes of others itself (turn/strangers.ts).
 */
async function watchOnce(
  context: RunContext,
  options: AfterCommitOptions,
  { ends, atMs, wasWatched, signal }: Watching,
): Promise<readonly Straggler[]> {
  const { ledger, clock } = context;
  if ((ledger.nextTurn.read()?.begunAtMs ?? null) !== null) {
    options.say(
      'the source is not checked for late writes here: cosmig reverse writes to it, and searches it',
    );
    return [];
  }
  if (wasWatched && clock.now() - atMs > LATE_WRITES_MS) {
    options.say('the source is no longer checked for late writes');
    return [];
  }
  const watchMs = wasWatched ? 1 : options.watchMs;
  try {
    return await watch(context, { ...options, watchMs }, { from: ends ?? committedEnds(context), signal });
  } catch (error) {
    if (!isHistoryExpired(context, error)) throw error;
    // Every later run would fail in the same way, so the watch is noted as ended.
    if (!wasWatched)
      ledger.journal.append({ event: 'late write watch ended', isForgotten: true }, clock.now());
    throw historyExpired(atMs, error);
  }
}

/** Reports writes to the source after the commit. They are not replicated, so the application does not see them. */
async function watch(
  context: RunContext,
  { watchMs, quietMs, say }: AfterCommitOptions,
  { from: first, signal }: { readonly from: SourceEnds; readonly signal: AbortSignal },
): Promise<Straggler[]> {
  const late: Straggler[] = [];
  // Late writes that were reported. A write that arrives during one look is seen again by the next look.
  const named = new Set<string>();
  let from = first;
  const endMs = context.clock.monotonicMs() + watchMs;
  // The loop looks at least once, unless watching is switched off.
  for (let isDue = watchMs > 0; isDue; isDue = context.clock.monotonicMs() < endMs) {
    await context.clock.sleep(Math.max(1, Math.min(quietMs, endMs - context.clock.monotonicMs())), signal);
    const to = await readSourceEnds(context, 'any replica', signal);
    for await (const straggler of stragglers(context, { from, to }, signal)) {
      if (straggler.what === 'split') continue;
      const names = straggler.ids.map((id) => `${straggler.what} ${id}`);
      if (names.length > 0 && names.every((name) => named.has(name))) continue;
      for (const name of names) named.add(name);
      late.push(straggler);
      say(`LATE WRITE after the commit, not replicated: ${describeChange(straggler)}`);
      context.ledger.journal.append({ event: 'late write', ...straggler }, context.clock.now());
    }
    from = to;
  }
  return late;
}

/** Whether the feed of all versions no longer has the changes since the commit. */
function isHistoryExpired({ deletes }: RunContext, error: unknown): boolean {
  return deletes === 'avad' && troubleOf(error)?.status === 400;
}

function historyExpired(committedAtMs: number, cause: unknown): AfterCommitError {
  const at = formatTs(committedAtMs);
  return new AfterCommitError(
    'the target is in use, but late writes cannot be found: the change history of the source has expired',
    {
      why: 'the feed of all versions and deletes no longer has the changes since then, or it is switched off',
      hint: `look in the source for documents with a _ts of ${at} or more, and fix those in the target; nothing else is left to do`,
      cause,
    },
  );
}

function reportSetting(
  say: (text: string) => void,
  { setting, source, target, outcome, why }: SettingOutcome,
): void {
  if (outcome === 'asked') say(`${setting} of the target is now as in the source: ${source} (was ${target})`);
  if (outcome === 'refused') say(`${setting} of the target could not be set as in the source: ${why ?? ''}`);
}
