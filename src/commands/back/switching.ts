/** The options that `cutover` and `rollback` share. */
import { DEADLINE_MIN } from '../../spec/timing.ts';

type Container = 'source' | 'target';

/** What the descriptions of these commands say about the operator's commands. */
export const HOOK_HELP =
  'The commands of --on-fence, --on-commit and --on-abort get COSMIG_MIGRATION, COSMIG_SOURCE, COSMIG_TARGET and ' +
  'COSMIG_REASON, and may run more than once. They do not get COSMIG_*_KEY and COSMIG_*_CONNECTION_STRING: if they need ' +
  'the account, give them a variable of another name. After the commit, run the same command again to complete what is ' +
  'left; it then needs only --on-commit.';

/** Returns the options of a command that moves the application from one container to the other. */
export function switchOptions({ from, to }: { readonly from: Container; readonly to: Container }) {
  return {
    writersStopped: {
      type: 'boolean',
      help: `confirm that the application has stopped writing to the ${from}`,
    },
    onFence: {
      type: 'text',
      value: 'COMMAND',
      help: 'command that stops the writers; it ends when they have stopped',
    },
    deadline: {
      type: 'duration',
      default: `${DEADLINE_MIN}m`,
      help: 'how long writers may be stopped before the commit; after that the command backs out',
    },
    quietFor: {
      type: 'duration',
      default: '5s',
      help: `how long the ${from} must be without writes before the commit`,
    },
    onCommit: { type: 'text', value: 'COMMAND', help: `command that points the application to the ${to}` },
    onAbort: {
      type: 'text',
      value: 'COMMAND',
      help: `command that lets the application write to the ${from} again`,
    },
    watchWrites: {
      type: 'duration',
      default: '2m',
      help: `how long to watch the ${from} for late writes after the commit`,
    },
  } as const;
}
