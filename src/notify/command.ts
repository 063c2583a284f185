/** Gives a notification to a command of the operator: as JSON on stdin, and in variables. */
import type { Reporter } from '../cli/command.ts';
import { CosmigError } from '../lib/errors.ts';
import { runHook, type Hook } from '../workflows/hooks.ts';
import type { Receiver } from './delivery.ts';

const FLAG = '--notify-command';

/** `env`: returns the variables of the command, which name the migration as soon as it is known. */
export function runFor(
  command: string,
  { env, out }: { readonly env: () => Hook['env']; readonly out: Pick<Reporter, 'note'> },
): Receiver {
  return {
    name: `the command of ${FLAG}`,
    deliver: async (notification, signal) => {
      const input = JSON.stringify(notification);
      const about = { COSMIG_NOTIFICATION: input, COSMIG_NOTIFICATION_EVENT: notification.event };
      try {
        await runHook(
          { flag: FLAG, command, env: { ...env(), ...about }, input: `${input}\n` },
          { out, signal },
        );
      } catch (error) {
        throw error instanceof CosmigError ? new Error(error.why, { cause: error }) : error;
      }
    },
  };
}
