/** `--notify` and `--notify-command`: notifies others of what a command does. */
import type { Context, OptionTable, Result, Values } from '../../cli/command.ts';
import type { RunObserver } from '../../notify/notify.ts';
import type { SpecContext } from './run-engine.ts';

export const NOTIFY_OPTIONS = {
  notify: {
    type: 'text',
    value: 'URL',
    env: 'COSMIG_NOTIFY',
    help: 'post what the run does, and how it ends, to this URL as JSON, signed with COSMIG_NOTIFY_SECRET; https, or http on this machine',
  },
  notifyCommand: {
    type: 'text',
    value: 'COMMAND',
    env: 'COSMIG_NOTIFY_COMMAND',
    help: 'command that gets the same JSON on stdin, once for each event',
  },
  notifySecret: {
    type: 'secret',
    env: 'COSMIG_NOTIFY_SECRET',
    help: 'what the posts of --notify are signed with, at least 16 characters',
  },
} as const satisfies OptionTable;

type NotifyContext = SpecContext &
  Pick<Context<typeof NOTIFY_OPTIONS>, 'abortSignal'> & { readonly options: Values<typeof NOTIFY_OPTIONS> };

/** Runs `body`, which passes the observer to the run; undefined: no receiver was given. */
export async function withNotices(
  context: NotifyContext,
  command: string,
  body: (observer: RunObserver | undefined) => Promise<Result | undefined>,
): Promise<Result | undefined> {
  const { options, env, clock, abortSignal, out, log } = context;
  const { notify, notifyCommand } = options;
  if (notify === undefined && notifyCommand === undefined) return body(undefined);
  // Loaded on demand, since --help needs neither the network nor the database.
  const { withNotifications } = await import('../../notify/notify.ts');
  const { readDestination, readSecret } = await import('../../notify/destination.ts');
  const { postTo } = await import('../../notify/post.ts');
  const { runFor } = await import('../../notify/command.ts');
  const { loadSpec } = await import('../../spec/load.ts');
  const { migrationName } = await import('../../spec/migration-name.ts');
  const { systemRandom } = await import('../../lib/random.ts');
  const { readVersion } = await import('../../lib/version.ts');
  const { hookEnvironment } = await import('../../workflows/hooks.ts');
  const destination = notify === undefined ? undefined : readDestination(notify);
  const secret = readSecret(env);
  const { spec } = loadSpec({ options, env, clock });
  const receivers = [
    ...(destination === undefined ? [] : [postTo(destination, { secret, clock, version: readVersion() })]),
    ...(notifyCommand === undefined ? [] : [runFor(notifyCommand, { env: hookEnvironment(env, spec), out })]),
  ];
  const parts = {
    receivers,
    command,
    migration: migrationName(spec),
    ledger: spec.ledger,
    clock,
    random: systemRandom,
    warn: (text: string) => log.warn(text),
    abortSignal,
  };
  return withNotifications(parts, body, (result) => result?.json['skipped'] === true);
}
