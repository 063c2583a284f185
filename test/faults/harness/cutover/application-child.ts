// Run as its own process: the application of a cutover's fault run. It writes until a file asks it to stop,
// creates another file when none of its writes is in flight, and resumes when the first file is deleted.
import { appendFileSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { scenarioOfCutover } from './scenario.ts';
import { Application } from '../migration/application.ts';
import { RawAccount } from '../../../helpers/emulator/raw.ts';
import { WireContainer } from '../../../helpers/emulator/wire-container.ts';

/** What the process is started with, as JSON. */
export interface GatedOrder {
  readonly endpoint: string;
  readonly key: string;
  readonly database: string;
  readonly container: string;
  readonly seed: number;
  /** Every version it may have written, a line each: identity and text. */
  readonly log: string;
  /** Is there: do not write. */
  readonly off: string;
  /** Exists while no write is in flight. */
  readonly isOff: string;
}

const order = JSON.parse(process.argv[2] ?? '{}') as GatedOrder;
const { off, isOff } = order;
const account = new RawAccount({ endpoint: order.endpoint, key: order.key });
const application = new Application({
  scenario: scenarioOfCutover(order.seed),
  wire: new WireContainer(account, order.database, order.container),
  seed: order.seed,
  onVersion: (identity, text) => appendFileSync(order.log, `${JSON.stringify([identity, text])}\n`),
});
writeFileSync(order.log, '');
await application.fill();
process.stdout.write('writing\n');
const end = new AbortController();
const input = createInterface(process.stdin);
input.on('line', () => end.abort());
input.on('close', () => end.abort());

while (!end.signal.aborted) {
  const pause = new AbortController();
  const running = application.run(AbortSignal.any([pause.signal, end.signal]));
  while (!existsSync(off) && !end.signal.aborted) await delay(20);
  pause.abort();
  await running;
  writeFileSync(isOff, '');
  while (!end.signal.aborted) {
    await delay(20);
    if (existsSync(off)) continue;
    rmSync(isOff, { force: true });
    // The hook that asked it to stop looked before this file was gone: it stays stopped.
    if (!existsSync(off)) break;
    writeFileSync(isOff, '');
  }
}
input.close();
account.close();
