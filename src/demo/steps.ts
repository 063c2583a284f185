/**
 * The steps of the demo: the real commands, called as the command line calls them. What always holds: each of them gets
 * the spec from the same file an operator would write, and its result is kept instead of printed.
 */
import type { Context, Reporter, Result, Values } from '../cli/command.ts';
import type { RunParts, Snapshot } from '../engine/run.ts';
import { ChildSignal } from '../lib/abort.ts';
import { CanceledError, DeadLetterError, NotReadyError } from '../lib/errors.ts';
import { SPEC_OPTIONS } from '../spec/fields.ts';
import type { Progress } from '../verify/verify.ts';
import { CutoverLine } from '../report/cutover-line.ts';
import { deadLettersDiscard } from '../commands/dead-letters/discard.ts';
import type { DemoAccount } from './account.ts';
import { move, moveBy, type MoveContext } from '../report/run-engine.ts';
import { verify } from '../commands/verify.ts';
import { lines } from '../report/format.ts';

type Json = Readonly<Record<string, unknown>>;

/** What the demo does at the turns of the cutover. */
interface Turns {
  readonly stopWriters: () => Promise<void>;
  readonly onCommit: () => Promise<void>;
  readonly onAbort: () => Promise<void>;
}

export interface StepsParts {
  readonly context: Context;
  readonly place: DemoAccount;
  /** Comes to an end in good order. */
  readonly signal: AbortSignal;
}

/** A target of three ranges; it is scaled down when the load is over. */
const LOAD_RU = '18000';
/** How long is waited for what will come: on a busy machine, much longer than it takes. */
const PATIENCE = '60s';
const PATIENCE_MS = 60_000;
/** Nobody but us writes, and we know when it stops. */
const QUIET_MS = 1000;

/** As wide as the picture of the end. */
const COLUMNS = 80;

export class Steps {
  readonly #context: Context;
  readonly #place: DemoAccount;
  readonly #signal: AbortSignal;
  #tailing: Kept | undefined;

  constructor({ context, place, signal }: StepsParts) {
    this.#context = context;
    this.#place = place;
    this.#signal = signal;
  }

  /** Ends with exit code 5 where it is typed: the letters stay open until they are dealt with. */
  async copy(): Promise<Json> {
    this.#show(`cosmig copy --create-target --target-throughput ${LOAD_RU} --yes`);
    const kept = new Kept(this.#context.out);
    const options = this.#options({
      createTarget: ['true'],
      targetThroughput: [LOAD_RU],
      yes: ['true'],
    });
    try {
      return kept.json(await move('copy', 'copy', this.#for(options, kept)));
    } catch (error) {
      if (!(error instanceof DeadLetterError)) throw error;
      kept.note(`it ended with exit code ${error.exitCode}: ${error.message}`);
      return kept.json();
    }
  }

  /** Follows the application while `beside` lasts. */
  async tailBeside(beside: () => Promise<void>): Promise<Json> {
    this.#show('cosmig tail');
    const kept = (this.#tailing = new Kept(this.#context.out));
    using stop = new ChildSignal(this.#signal);
    const tail = this.#tail(kept, stop.signal);
    // Whichever fails first ends the other one; that is then of no interest.
    const work = beside().finally(() => stop.abort(new CanceledError('SIGINT')));
    const [, json] = await Promise.all([work, tail]);
    return json;
  }

  async #tail(kept: Kept, signal: AbortSignal): Promise<Json> {
    try {
      return kept.json(await move('tail', 'tail', this.#for(this.#options(), kept, signal)));
    } catch (error) {
      // Stopped by us, and with a letter that is open still: both are as they should be.
      const isPlanned = error instanceof DeadLetterError || error instanceof CanceledError;
      if (!isPlanned || !signal.aborted || this.#signal.aborted) throw error;
      return kept.json();
    }
  }

  async verify(): Promise<Json> {
    this.#show('cosmig verify');
    // There is one line for both, and the tail goes on as before.
    this.#tailing?.hush();
    const kept = new Kept(this.#context.out);
    const how = {
      level: 'digest',
      fresh: true,
      repair: false,
      deadline: PATIENCE,
      report: undefined,
    } as const;
    const options = { ...this.#options(), ...how };
    const json = kept.json(await verify.run(this.#for(options, kept)));
    kept.note('both sides are equal, and the application has not stopped for it');
    return json;
  }

  /** The gate is closed while a letter is open. */
  async refusedCutover(): Promise<string> {
    this.#show('cosmig cutover');
    const never = async (): Promise<void> => {};
    try {
      await this.#cutOver({ stopWriters: never, onCommit: never, onAbort: never });
    } catch (error) {
      if (!(error instanceof NotReadyError)) throw error;
      const told = `exit code ${error.exitCode}: ${error.message}`;
      this.#context.out.note(`  it ended with ${told}`);
      return told;
    }
    return 'the gate was open';
  }

  async discard(number: number): Promise<void> {
    this.#show(`cosmig dead-letters discard ${number}`);
    const kept = new Kept(this.#context.out);
    const { config, source, target, ledger } = this.#options();
    const options = { config, source, target, ledger, all: false, reason: undefined, yes: false };
    const context = { ...this.#for(options, kept), operand: String(number) };
    kept.note((await deadLettersDiscard.run(context))?.text ?? '');
  }

  async cutOver(turns: Turns): Promise<Json> {
    this.#show('cosmig cutover --on-fence ... --on-commit ...');
    return this.#cutOver(turns);
  }

  async #cutOver(turns: Turns): Promise<Json> {
    const { runCutover } = await import('../engine/run.ts');
    const { lastCleanMs, prove } = await import('../workflows/compare.ts');
    const kept = new Kept(this.#context.out);
    const times = { deadlineMs: PATIENCE_MS, quietMs: QUIET_MS, watchMs: QUIET_MS };
    const shown = new CutoverLine(this.#context.clock, times);
    const run = async (parts: RunParts): Promise<Snapshot> =>
      runCutover(parts, {
        ...turns,
        ...times,
        lastCleanMs: () => lastCleanMs(parts.spec),
        prove: async (signal, scope) => {
          const onProgress = (progress: Progress): void => shown.seeProof(progress);
          return prove(parts, { deadlineMs: PATIENCE_MS, signal, scope, onProgress });
        },
        say: (text) => kept.note(text),
        onStep: (step) => shown.see(step),
      });
    return kept.json(await moveBy(this.#for(this.#options(), kept), { command: 'cutover', run, shown }));
  }

  #show(line: string): void {
    this.#context.out.note(`$ ${line}`);
  }

  #options(given: Readonly<Record<string, readonly string[]>> = {}): Values<typeof SPEC_OPTIONS> {
    const all = { config: [this.#place.config], ...given };
    const values = Object.keys(SPEC_OPTIONS).map((name) => [
      name,
      Object.hasOwn(all, name) ? all[name as keyof typeof all] : [],
    ]);
    // One value for each name of the table, as the command line gives them; secrets have none.
    return Object.fromEntries(values) as Values<typeof SPEC_OPTIONS>;
  }

  #for<O extends MoveContext['options'] | object>(
    options: O,
    out: Reporter,
    signal: AbortSignal = this.#signal,
  ): Omit<MoveContext, 'options'> & { readonly options: O } {
    const { stdin, abortSignal, log, clock } = this.#context;
    return { options, operand: undefined, stdin, signal, abortSignal, out, log, env: this.#place.env, clock };
  }
}

/** Says what a command says one step to the right, and keeps its result. */
class Kept implements Reporter {
  readonly #out: Reporter;
  #result: Result | undefined;
  #isHushed = false;

  constructor(out: Reporter) {
    this.#out = out;
  }

  json(result: Result | undefined = this.#result): Json {
    return result?.json ?? {};
  }

  note(text: string): void {
    const [first = '', ...rest] = lines(text, COLUMNS - 4);
    this.#out.note([`  ${first}`, ...rest.map((line) => `    ${line}`)].join('\n'));
  }

  progress(...said: Parameters<Reporter['progress']>): void {
    if (!this.#isHushed) this.#out.progress(...said);
  }

  /** How far it is is of no interest any more. */
  hush(): void {
    this.#isHushed = true;
  }

  announce(result: Result): void {
    this.#result = result;
  }

  async line(): Promise<boolean> {
    return true;
  }
}
