// Run as its own process: the command line, from the sources, with times that suit a machine next door, which kills
// itself at a given moment: around a line of the journal, a commit, or an answer of the service.
import { subscribe } from 'node:diagnostics_channel';
import type { Statement } from 'better-sqlite3';
import { main } from '../../../../src/cli/main.ts';
import { loadDriver } from '../../../../src/lib/sqlite/sqlite-driver.ts';
import { COMPARE_TIMING, TIMING } from '../../../../src/spec/timing.ts';

/** What the process is given besides its command line. */
export interface ChildOrder {
  readonly requestTimeoutMs: number;
  readonly strike?: Strike;
}

/** A moment at its n-th passing, counted from a line of the journal on when there is one to wait for. */
export interface Strike {
  /** `journal`: about to be committed; `journalled`: has been. Replies are those of the service, as they begin. */
  readonly at: 'journal' | 'journalled' | 'commit' | 'verify-commit' | 'reply';
  readonly passing: number;
  /** Begins a line of the journal: of `at`, or what comes before the first passing. */
  readonly event: string;
}

const { strike, requestTimeoutMs } = JSON.parse(process.env['CHILD_ORDER'] ?? '{}') as ChildOrder;
Object.assign(TIMING, { requestTimeoutMs, pollMs: 50, showMs: 500 });
Object.assign(COMPARE_TIMING, { requestTimeoutMs, gapMs: 200, checkpointMs: 300 });

let passings = 0;
let isOpen = strike?.event === '';
let noted: string | undefined;

function pass(at: Strike['at'], event?: string): void {
  if (strike?.at !== at) return;
  const counts = event === undefined ? isOpen : event.startsWith(strike.event);
  if (!counts) return;
  passings += 1;
  if (passings === strike.passing) process.kill(process.pid, 'SIGKILL');
}

/** Replaces a method by itself and a call of `after` with its result. */
function watching<T extends object>(
  owner: T,
  method: keyof T & string,
  after: (args: readonly unknown[], result: unknown, self: object) => void,
): void {
  const original: unknown = Reflect.get(owner, method);
  if (typeof original !== 'function') throw new Error(`${method} is not a method`);
  const watched = function (this: object, ...args: unknown[]): unknown {
    const result: unknown = Reflect.apply(original, this, args);
    after(args, result, this);
    return result;
  };
  Reflect.set(owner, method, watched);
}

if (strike !== undefined) {
  const Driver = loadDriver();
  watching(Driver.prototype, 'prepare', ([sql], statement) => {
    if (!String(sql).startsWith('INSERT INTO journal')) return;
    watching(statement as Statement, 'run', ([row]) => {
      noted = String(Reflect.get(row as object, 'event'));
      pass('journal', noted);
    });
  });
  watching(Driver.prototype, 'exec', ([sql], _done, self) => {
    if (sql !== 'COMMIT' || Reflect.get(self, 'readonly') === true) return;
    if (noted !== undefined) {
      const event = noted;
      noted = undefined;
      pass('journalled', event);
      if (event.startsWith(strike.event)) isOpen = true;
    }
    pass(String(Reflect.get(self, 'name')).endsWith('-verify') ? 'verify-commit' : 'commit');
  });
  subscribe('http.client.response.finish', () => pass('reply'));
}

await main();
