/** `--watch [PORT]`: serves the live page of a migration while a command works on it. */
import { randomBytes } from 'node:crypto';
import type { Context, OptionTable } from '../../cli/command.ts';
import { UsageError } from '../../lib/errors.ts';
import { readVersion } from '../../lib/version.ts';
import { Invalid } from '../../spec/input/given.ts';
import { readWhole } from '../../spec/input/values.ts';
import type { RunningWatch } from '../../watch/server.ts';

/** Too long to be guessed. */
const TOKEN_BYTES = 16;
const PORT_MAX = 65_535;

export const PAGE_OPTIONS = {
  watch: {
    type: 'text',
    value: '[PORT]',
    bare: '0',
    help: 'serve a live page of this migration on this machine while the command runs, on this port or any free one',
  },
} as const satisfies OptionTable;

type PageContext = Pick<Context, 'clock' | 'signal' | 'out'>;

/** Starts the page of a ledger. */
export async function startPage(
  ledger: string,
  { port, clock, signal }: { readonly port: number } & Pick<PageContext, 'clock' | 'signal'>,
): Promise<RunningWatch> {
  // Loaded on demand, since --help needs neither the server nor the database.
  const { startWatch } = await import('../../watch/server.ts');
  const { LivePage } = await import('../watch/live.ts');
  return startWatch({
    port,
    token: randomBytes(TOKEN_BYTES).toString('base64url'),
    shown: new LivePage(ledger, { clock, version: readVersion() }),
    clock,
    signal,
  });
}

/** Runs `body`. `watch` is the value of `--watch`: with it, `body` gets the page, which is served until `body` has ended. */
export async function withPage<T>(
  { watch, ledger }: { readonly watch: string | undefined; readonly ledger: () => string },
  { clock, signal, out }: PageContext,
  body: (page?: RunningWatch) => Promise<T>,
): Promise<T> {
  if (watch === undefined) return body();
  const page = await startPage(ledger(), { port: portIn(watch), clock, signal });
  out.note(`watch it at ${page.url}`);
  try {
    return await body(page);
  } finally {
    await page.close();
  }
}

function portIn(text: string): number {
  const port = readWhole(0, PORT_MAX)(text);
  if (!(port instanceof Invalid)) return port;
  throw new UsageError(`--watch ${text} is not valid`, {
    why: 'it takes a port from 0 to 65535; 0 is any free one',
    hint: 'write --watch alone',
  });
}
