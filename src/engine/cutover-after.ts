/**
 * What follows the commit: settings of the target, the hook that points the application to it, and a look at the source
 * for late writes. What always holds: each is a line of the journal when it is done, and a run that died before does it
 * again; nothing here leads back, so trouble with one of them is told and does not keep the others from being done.
 */
import { sleep } from '../lib/abort.ts';
import { fenceOfLedger, findStraggler, readFence, type Fence, type Straggler } from './fence.ts';
import type { Mover } from './mover.ts';
import type { Step } from './cutover.ts';

/** A setting in which the target is not as the source is. */
export interface SettingTold {
  readonly setting: string;
  /** In words, for people. */
  readonly source: string;
  readonly target: string;
  /** asked: it was made like the source's. told: nobody has asked for it. refused: it was asked for, and could not be. */
  readonly outcome: 'asked' | 'told' | 'refused';
  readonly why?: string;
}

export interface AfterParts {
  /** Called after the commit. */
  readonly onCommit: (signal: AbortSignal) => Promise<void>;
  /** Makes those settings of the target like the source's that were asked for, and tells of the others. */
  readonly putRight?: (signal: AbortSignal) => Promise<readonly SettingTold[]>;
  readonly say: (text: string) => void;
  /** How long nobody may have written. */
  readonly quietMs: number;
  /** How long the source is watched afterwards. */
  readonly watchMs: number;
  readonly onStep?: (step: Step) => void;
}

export interface CutoverResult {
  readonly committedAtMs: number;
  /** How long writers were stopped. */
  readonly stoppedMs: number;
  readonly settings: readonly SettingTold[];
  readonly lateWrites: readonly Straggler[];
}

/** Whoever asks much later gets to know what was done, and the source is not looked at any more. */
const LOOK_MAX_MS = 24 * 3600 * 1000;

export async function finish(
  mover: Mover,
  parts: AfterParts,
  { fence, signal }: { readonly fence: Fence | null; readonly signal: AbortSignal },
): Promise<CutoverResult> {
  const { ledger, clock } = mover;
  const { onCommit, putRight, say, onStep } = parts;
  onStep?.({ name: 'after the commit', stoppedAtMs: null });
  const { atMs, stoppedMs, done } = committed(mover);
  const note = (event: string, details: object = {}): void =>
    ledger.facts.note(event, { nowMs: clock.now(), details });
  const settings = putRight === undefined ? [] : await putRight(signal);
  for (const one of settings) sayOfSetting(say, one);
  if (settings.some(({ outcome }) => outcome !== 'told')) note('settings', { settings });
  if (!done.has('switched')) {
    await onCommit(signal);
    note('switched');
  }
  onStep?.({ name: 'watching for late writes', stoppedAtMs: null });
  const isOver = done.has('watched');
  const lateWrites: readonly Straggler[] =
    isOver && clock.now() - atMs > LOOK_MAX_MS
      ? []
      : await watch(mover, isOver ? { ...parts, watchMs: 1 } : parts, {
          from: fence ?? fenceOfLedger(mover),
          signal,
        });
  if (!isOver) note('watched');
  return { committedAtMs: atMs, stoppedMs, settings, lateWrites };
}

/** What the journal says since the commit. */
function committed({ ledger }: Mover): {
  readonly atMs: number;
  readonly stoppedMs: number;
  readonly done: ReadonlySet<string>;
} {
  const done = new Set<string>();
  let [atMs, stoppedMs] = [0, 0];
  const limit = 1000;
  for (let after = 0; ;) {
    const entries = ledger.facts.journal({ after, limit });
    for (const { event, atMs: at, details } of entries) {
      done.add(event);
      if (event !== 'phase committed') continue;
      const told: unknown = Reflect.get(Object(JSON.parse(details)), 'stoppedMs');
      [atMs, stoppedMs] = [at, typeof told === 'number' ? told : 0];
    }
    const last = entries.at(-1);
    if (last === undefined || entries.length < limit) return { atMs, stoppedMs, done };
    after = last.number;
  }
}

/** Late writes are lost to the application: nothing brings them over any more. */
async function watch(
  mover: Mover,
  { watchMs, quietMs, say }: AfterParts,
  { from: first, signal }: { readonly from: Fence; readonly signal: AbortSignal },
): Promise<Straggler[]> {
  const late: Straggler[] = [];
  // What is written while it is looked at is seen once more the next time.
  const named = new Set<string>();
  let from = first;
  for (const endMs = mover.clock.now() + watchMs; mover.clock.now() < endMs;) {
    await sleep(Math.max(1, Math.min(quietMs, endMs - mover.clock.now())), signal);
    const to = await readFence(mover, 'as told', signal);
    const straggler = await findStraggler(mover, { from, to }, signal);
    from = to;
    if (straggler === null || straggler.what === 'split') continue;
    if (straggler.ids.length > 0 && straggler.ids.every((id) => named.has(id))) continue;
    for (const id of straggler.ids) named.add(id);
    late.push(straggler);
    say(`LATE WRITE after the commit, not in the target: ${told(straggler)}`);
    mover.ledger.facts.note('late write', { nowMs: mover.clock.now(), details: straggler });
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
  return `${named} ${what} in range ${range}`;
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
}
