// Run as its own process by the tests of the lock.
import { createInterface } from 'node:readline';
import { must } from '../../../src/lib/assert.ts';
import { openDatabase } from '../../../src/lib/sqlite/sqlite.ts';
import { Ledger } from '../../../src/state/ledger.ts';
import { beginLease, intendPage, openLedger, SMALL } from '../../unit/state/making.ts';

const [what, path = '', steps = '0'] = process.argv.slice(2);

function say(text: string): void {
  process.stdout.write(text);
}

/** Returns `opened`, or the name of the error. */
function open(ledger: string): string {
  try {
    openLedger(ledger).close();
    return 'opened';
  } catch (error) {
    return error instanceof Error ? error.name : 'trouble';
  }
}

switch (what) {
  case 'open': {
    const outcome = open(path);
    say(outcome);
    if (outcome !== 'opened') process.exitCode = 3;
    break;
  }
  // Starting a process takes longer than opening a ledger, so one process opens all ledgers of a test file.
  case 'serve':
    for await (const line of createInterface(process.stdin)) {
      const request = JSON.parse(line) as { path: string; folder: string };
      process.chdir(request.folder);
      say(`${open(request.path)}\n`);
    }
    break;
  case 'status': {
    using ledger = Ledger.openReadonly(path);
    say(`${ledger.migration.read().phase} ${Ledger.isRunning(path) ? 'running' : 'idle'}`);
    break;
  }
  // As a process that looks whether the lock is held, and is suspended in the middle of it.
  case 'look': {
    const database = openDatabase({ path: `${path}-lock`, readonly: true });
    database.exec('BEGIN; SELECT * FROM progress');
    say('looking');
    setTimeout(() => database.close(), Number(steps));
    break;
  }
  case 'build': {
    const ledger = openLedger(path);
    if (ledger.leases.live().length === 0) {
      const lease = beginLease(ledger);
      for (let first = 0; first < 4000; first += 500) {
        const documents = Array.from({ length: 500 }, (_, i) => ({
          identity: `d${first + i}`,
          slot: `s${first + i}`,
        }));
        intendPage(ledger, { lease, documents, position: `"${first}"` })();
      }
    }
    const { indexId } = must(ledger.leases.live()[0], 'there is a lease');
    const build = ledger.buildIndex(indexId, SMALL);
    for (let step = 0; step < Number(steps); step += 1) build.step();
    say('waiting');
    // Continues to build the index while it waits to be killed.
    setInterval(() => build.step(), 5);
    break;
  }
  default:
    throw new Error(`what is ${what}?`);
}
