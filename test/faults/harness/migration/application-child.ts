// Run as its own process: the application of a fault run, from its first document until it is asked to stop.
import { appendFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Application } from './application.ts';
import { scenarioOf } from './scenario.ts';
import { RawAccount } from '../../../helpers/emulator/raw.ts';
import { WireContainer } from '../../../helpers/emulator/wire-container.ts';

/** What the process is started with, as JSON. */
export interface ApplicationOrder {
  readonly endpoint: string;
  readonly key: string;
  readonly database: string;
  readonly container: string;
  readonly scenarioSeed: number;
  readonly seed: number;
  /** Whether the container is to be filled first. */
  readonly fills: boolean;
  /** Every version it may have written, a line each: identity and text. */
  readonly log: string;
}

const order = JSON.parse(process.argv[2] ?? '{}') as ApplicationOrder;
const account = new RawAccount({ endpoint: order.endpoint, key: order.key });
const application = new Application({
  scenario: scenarioOf(order.scenarioSeed),
  wire: new WireContainer(account, order.database, order.container),
  seed: order.seed,
  onVersion: (identity, text) => appendFileSync(order.log, `${JSON.stringify([identity, text])}\n`),
});
if (order.fills) {
  writeFileSync(order.log, '');
  await application.fill();
}
process.stdout.write('writing\n');
const stop = new AbortController();
const input = createInterface(process.stdin);
input.on('line', () => stop.abort());
input.on('close', () => stop.abort());
await application.run(stop.signal);
process.stdout.write(`${JSON.stringify(application.answers)}\n`);
input.close();
account.close();
