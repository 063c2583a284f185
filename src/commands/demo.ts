/** `cosmig demo`: runs a whole migration in about a minute, without an account. */
import type { Command } from '../cli/command.ts';
import { PAGE_OPTIONS } from '../report/runs/live-page.ts';

const OPTIONS = {
  fast: { type: 'boolean', help: 'small data set, finishes in seconds (for CI)' },
  keep: {
    type: 'boolean',
    help: 'keep the data of the emulator and the ledger, and print how to look around',
  },
  andBack: {
    type: 'boolean',
    help: 'then go back: the application returns to the source, and nothing is lost',
  },
  ...PAGE_OPTIONS,
} as const;

export const demo: Command<typeof OPTIONS> = {
  name: 'demo',
  summary: 'a whole migration in a minute, without an account',
  description:
    'Starts the emulator in this process, fills a container that has the wrong partition key, lets an application write ' +
    'to it all the time, and migrates it with the code of the real commands: plan, copy, tail, verify, cutover. Shows ' +
    'the result, and leaves nothing behind but two pages: the plan, and the report that cosmig status --report writes.',
  examples: [
    { line: 'cosmig demo', purpose: 'watch it, and see the picture at the end' },
    { line: 'cosmig demo --fast --json', purpose: 'the same within seconds, for a script' },
  ],
  options: OPTIONS,
  endsWith: { mismatch: true, 'dead-letters': true, service: true, ledger: true, 'after-commit': true },
  async run(context) {
    // Loaded on demand, since no other command needs the application or, for --help, the SDK.
    const { runDemo } = await import('../demo/demo.ts');
    return runDemo(context, context.options);
  },
};
