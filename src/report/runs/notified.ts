/** `--notify` and `--notify-command`: notifies others of what a command does. */
import type { OptionTable, Result, Values } from '../../cli/command.ts';
import type { RunObserver } from '../../notify/notify.ts';
import type { ReceiverContext } from './receivers.ts';
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

export const WATCH_NOTIFY_OPTIONS = {
  ...NOTIFY_OPTIONS,
  notify: {
    ...NOTIFY_OPTIONS.notify,
    help: 'post what happens to the migration to this URL as JSON, also that a run has crashed, signed with COSMIG_NOTIFY_SECRET; https, or http on this machine',
  },
  proofAge: {
    type: 'duration',
    default: '24h',
    help: 'notify when the last proof is older than this',
  },
} as const satisfies OptionTable;

/** Runs `body`, which passes the observer to the run; undefined: no receiver was given. */
export async function withNotices(
  context: SpecContext & ReceiverContext,
  command: string,
  body: (observer: RunObserver | undefined) => Promise<Result | undefined>,
): Promise<Result | undefined> {
  if (!isNotified(context.options)) return body(undefined);
  // Loaded on demand, since --help needs neither the network nor the database.
  const { withRunNotices } = await import('./receivers.ts');
  return withRunNotices(context, command, body);
}

/** Runs `body`, and notifies meanwhile what happens to the migration of a ledger. */
export async function withWatchNotices<T>(
  context: ReceiverContext & { readonly options: Values<typeof WATCH_NOTIFY_OPTIONS> },
  ledger: string,
  body: () => Promise<T>,
): Promise<T> {
  const { options } = context;
  if (!isNotified(options)) return body();
  const { withLedgerNotices } = await import('./receivers.ts');
  return withLedgerNotices(context, { ledger, proofAgeMs: options.proofAge }, body);
}

function isNotified({ notify, notifyCommand }: ReceiverContext['options']): boolean {
  return notify !== undefined || notifyCommand !== undefined;
}
