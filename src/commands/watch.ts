/** `cosmig watch`: serves a page that shows one migration as it goes on. It reads the ledger and changes nothing. */
import type { Command, OptionTable } from '../cli/command.ts';
import { whenAborted } from '../lib/abort.ts';
import { CanceledError } from '../lib/errors.ts';
import { startPage } from '../report/runs/live-page.ts';
import { WATCH_NOTIFY_OPTIONS, withWatchNotices } from '../report/runs/notified.ts';
import type { WATCH_READY } from '../report/json/tool-results.ts';
import type { TypeOf } from '../report/json/schema.ts';
import { LEDGER_OPTIONS } from '../spec/fields.ts';

const OPTIONS = {
  port: {
    type: 'number',
    default: 0,
    min: 0,
    max: 65_535,
    env: 'COSMIG_WATCH_PORT',
    help: 'port to listen on, on this machine only; 0 takes any free one',
  },
  open: { type: 'boolean', help: 'open the page in a browser' },
  ...WATCH_NOTIFY_OPTIONS,
  ...LEDGER_OPTIONS,
} as const satisfies OptionTable;

export const watch: Command<typeof OPTIONS> = {
  name: 'watch',
  summary: 'show a migration on a live page',
  description:
    'Serves a page on this machine that shows one migration as it goes on: documents, speed, physical partitions, proof ' +
    'and cutover. It may start before the migration, and stays when a run ends or crashes. It needs no account, and ' +
    'nothing on the page changes anything. The same port answers /metrics for Prometheus. With --notify it reports what ' +
    'happens, also what a run cannot report itself: that it crashed or hangs, that the last proof is old, or that nothing was replicated for days.',
  examples: [
    { line: 'cosmig watch --open', purpose: 'the migration of cosmig.config.yaml in this folder' },
    {
      line: 'cosmig watch --ledger .cosmig/orders.db --port 9464 --notify https://example.com/hooks/cosmig',
      purpose: 'one ledger: figures for Prometheus, and notifications that outlive a run',
    },
  ],
  options: OPTIONS,
  endsWith: { ledger: true },
  async run(context) {
    const { options, env, clock, signal, out, log } = context;
    const { loadLedgerPath } = await import('../spec/load.ts');
    const ledger = loadLedgerPath({ options, env, clock });
    const show = async (): Promise<void> => {
      const server = await startPage(ledger, { port: options.port, clock, signal });
      try {
        const { url } = server;
        const json: TypeOf<typeof WATCH_READY> = { ready: true, url };
        out.announce({ json, text: url });
        out.note('anyone on this machine who has this address can see the page; Ctrl-C ends it');
        if (options.open) {
          const { openBrowser } = await import('../watch/browser.ts');
          if (!(await openBrowser(url))) out.note('no browser could be opened; open the address yourself');
        }
        await Promise.race([whenAborted(signal), server.ended]);
      } finally {
        await server.close();
      }
    };
    const { withTelemetry } = await import('../report/metrics/during.ts');
    const { readVersion } = await import('../lib/version.ts');
    await withWatchNotices(context, ledger, async () =>
      withTelemetry({ ledger, clock, log, version: readVersion() }, show),
    );
    const name = signal.reason instanceof CanceledError ? signal.reason.signal : 'SIGINT';
    throw new CanceledError(name, {
      message: `the page was closed (${name})`,
      why: 'the migration does not need it',
      hint: 'run cosmig watch again at any time',
    });
  },
};
