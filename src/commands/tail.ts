/** `cosmig tail`: what the application writes after the copy, brought over as it comes. */
import type { Command } from '../cli/command.ts';
import { SPEC_OPTIONS } from '../spec/fields.ts';
import { move } from '../report/run-engine.ts';

const OPTIONS = {
  ...SPEC_OPTIONS,
  untilCaughtUp: {
    type: 'boolean',
    default: false,
    help: 'bring over what there is now, and end',
  },
} as const;

export const tail: Command<typeof OPTIONS> = {
  name: 'tail',
  summary: 'bring over what is written after the copy, until stopped',
  description:
    'Goes on where the copy of each range has ended: replays every change of the source in the target, moves documents ' +
    'whose new key has changed, and deletes what was deleted where the source tells it. Runs until Ctrl-C, or until ' +
    'there is nothing new; run it again at any time.',
  examples: [
    { line: 'cosmig tail', purpose: 'the migration of cosmig.config.yaml, until Ctrl-C' },
    {
      line: 'cosmig tail --until-caught-up --for 20m --skip-if-running --json',
      purpose: 'from a schedule: exit 0 when caught up, 8 when the time was too short',
    },
  ],
  options: OPTIONS,
  async run(context) {
    return move('tail', context.options.untilCaughtUp ? 'catch-up' : 'tail', context);
  },
};
