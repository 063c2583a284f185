/** The receivers of notifications, as the options name them. Loaded only if there are any. */
import type { Context, Result, Values } from '../../cli/command.ts';
import { systemRandom } from '../../lib/random.ts';
import { readVersion } from '../../lib/version.ts';
import { runFor } from '../../notify/command.ts';
import type { Receiver } from '../../notify/delivery.ts';
import { readDestination, readSecret } from '../../notify/destination.ts';
import { withLedgerNotifications } from '../../notify/notify-watch.ts';
import { withNotifications, type RunObserver } from '../../notify/notify.ts';
import { postTo } from '../../notify/post.ts';
import type { SendParts } from '../../notify/sender.ts';
import { loadSpec } from '../../spec/load.ts';
import { migrationName, type Ends } from '../../spec/migration-name.ts';
import { hookEnvironment } from '../../workflows/hooks.ts';
import type { NOTIFY_OPTIONS } from './notified.ts';
import type { SpecContext } from './run-engine.ts';

export type ReceiverContext = Pick<Context, 'env' | 'clock' | 'out' | 'log' | 'abortSignal'> & {
  readonly options: Values<typeof NOTIFY_OPTIONS>;
};

export async function withRunNotices(
  context: SpecContext & ReceiverContext,
  command: string,
  body: (observer: RunObserver) => Promise<Result | undefined>,
): Promise<Result | undefined> {
  const receivers = receiversIn(context);
  const { spec } = loadSpec(context);
  const { turn = 0 } = context;
  const about = { command, migration: migrationName(spec), ledger: spec.ledger, turn };
  const parts = { ...sendParts(context), ...about, receivers: receivers(() => spec) };
  return withNotifications(parts, body, (result) => result?.json?.['skipped'] === true);
}

export async function withLedgerNotices<T>(
  context: ReceiverContext,
  about: { readonly ledger: string; readonly proofAgeMs: number },
  body: () => Promise<T>,
): Promise<T> {
  return withLedgerNotifications({ ...sendParts(context), ...about, receivers: receiversIn(context) }, body);
}

function sendParts({ clock, log, abortSignal }: ReceiverContext): Omit<SendParts, 'receivers'> {
  return { clock, random: systemRandom, warn: (text) => log.warn(text), abortSignal };
}

/** `ends`: returns source and target of the migration; null: not known yet. */
type MakeReceivers = (ends: () => Ends | null) => readonly Receiver[];

/** Reads the options, and returns a function that makes the receivers. */
function receiversIn({ options, env, clock, out }: ReceiverContext): MakeReceivers {
  const { notify, notifyCommand } = options;
  const destination = notify === undefined ? undefined : readDestination(notify);
  const secret = readSecret(env);
  return (ends) => [
    ...(destination === undefined ? [] : [postTo(destination, { secret, clock, version: readVersion() })]),
    ...(notifyCommand === undefined
      ? []
      : [runFor(notifyCommand, { env: () => hookEnvironment(env, ends()), out })]),
  ];
}
