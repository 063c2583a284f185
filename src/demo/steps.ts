/**
 * The steps of the demo. Each step runs the code of a command in this process. Invariants: each step reads its settings
 * from a config file like that of an operator, and keeps its result instead of printing it.
 */
import type { Context, Reporter, Result } from '../cli/command.ts';
import type { CutoverOptions } from '../engine/cutover/contract.ts';
import { ChildSignal } from '../lib/abort.ts';
import { pluralize } from '../lib/counting.ts';
import { CanceledError, DeadLetterError, NotReadyError } from '../lib/errors.ts';
import { wrapText } from '../report/format.ts';
import type { planJson } from '../report/plan/json.ts';
import { runCutoverWithProgress } from '../report/runs/run-cutover.ts';
import { runToGoal, type SpecContext } from '../report/runs/run-engine.ts';
import { runPlan } from '../report/runs/run-plan.ts';
import { runVerifyWithProgress } from '../report/runs/run-verify.ts';
import { inTurn, type TurnContext } from '../report/turns/in-turn.ts';
import type { DemoAccount } from './account.ts';

type Json = Readonly<Record<string, unknown>>;
export type Plan = ReturnType<typeof planJson>;

/** What the application does during the cutover. */
type DemoHooks = Pick<CutoverOptions, 'stopWriters' | 'onCommit' | 'onAbort'>;

export interface StepsParts {
  readonly context: Context;
  readonly local: DemoAccount;
  /** Aborted when the demo has to stop cleanly. */
  readonly signal: AbortSignal;
}

/** The throughput of the target during the copy, which gives it three ranges. The cutover reduces it. */
const LOAD_RU = '18000';
/** The limit for a comparison or a cutover. It is much longer than either takes, since the machine may be busy. */
const DEADLINE_MS = 60_000;
/**
 * How long the source must be quiet before the cutover continues. This is short, since only the application of the
 * demo writes, and the demo knows when it has stopped.
 */
const QUIET_MS = 1000;
const TIMES = { deadlineMs: DEADLINE_MS, quietMs: QUIET_MS, watchMs: QUIET_MS } as const;
const VERIFY_ORDER = { level: 'digest', fresh: true, repair: false, deadlineMs: DEADLINE_MS } as const;

/** `cosmig plan` without options. */
const PLAN_ORDER = {
  candidates: [],
  share: 1,
  exact: false,
  ruMax: null,
  isAccepted: false,
  fresh: false,
  observeMs: null,
  created: null,
  horizonMonths: 12,
  workload: undefined,
  printsKql: false,
  prices: undefined,
  hashesValues: false,
  config: undefined,
} as const;

/** The width of what the demo prints, which is the width of the picture at the end. */
const COLUMNS = 80;

export class Steps {
  readonly #context: Context;
  readonly #local: DemoAccount;
  readonly #signal: AbortSignal;
  #tailing: CapturingReporter | undefined;

  constructor({ context, local, signal }: StepsParts) {
    this.#context = context;
    this.#local = local;
    this.#signal = signal;
  }

  /** Says what came of the step that was printed last. */
  say(text: string): void {
    const [first = '', ...rest] = wrapText(text, COLUMNS - 4);
    this.#context.out.note([`  ${first}`, ...rest.map((line) => `    ${line}`)].join('\n'));
  }

  /** Runs `cosmig plan`, which proposes candidates. Its page is written to `page`. */
  async plan(page: string): Promise<Plan> {
    const out = this.#begin('cosmig plan --report plan.html');
    const result = await runPlan(this.#contextFor(out), { ...PLAN_ORDER, report: page });
    // The application is measured next, and no step runs meanwhile.
    out.hideLive();
    // The cast is safe: the plan has the shape of its schema.
    return result.json as unknown as Plan;
  }

  /** Runs `cosmig copy`. The copy leaves open dead letters, so it ends with exit code 5, as it does for an operator. */
  async copy(): Promise<Json> {
    const out = this.#begin(`cosmig copy --create-target --target-throughput ${LOAD_RU} --yes`);
    const options = { createTarget: ['true'], targetThroughput: [LOAD_RU], yes: ['true'] };
    try {
      return out.json(await runToGoal(this.#contextFor(out, { options }), { command: 'copy', goal: 'copy' }));
    } catch (error) {
      if (!(error instanceof DeadLetterError)) throw error;
      return out.json();
    }
  }

  /** Runs `cosmig tail` until `work` has ended. */
  async tailWhile(work: () => Promise<void>): Promise<Json> {
    const out = (this.#tailing = this.#begin('cosmig tail'));
    using stop = new ChildSignal(this.#signal);
    const context = this.#contextFor(out, { signal: stop.signal });
    const tail = this.#untilStopped(context, { command: 'tail', signal: stop.signal });
    const working = work().finally(() => stop.abort(new CanceledError('SIGINT')));
    const [, result] = await Promise.all([working, tail]);
    return out.json(result);
  }

  /** Runs a tail until the demo stops it. */
  async #untilStopped(
    context: SpecContext,
    { command, signal }: { readonly command: 'tail' | 'reverse'; readonly signal: AbortSignal },
  ): Promise<Result | undefined> {
    try {
      return await runToGoal(context, { command, goal: 'tail' });
    } catch (error) {
      // The demo has stopped the tail, perhaps while a dead letter was open. Both are planned, so neither is an error.
      const isPlanned = error instanceof DeadLetterError || error instanceof CanceledError;
      if (!isPlanned || !signal.aborted || this.#signal.aborted) throw error;
      return undefined;
    }
  }

  async verify(): Promise<Json> {
    const out = this.#begin('cosmig verify');
    // A terminal has one live line, and it shows the comparison now. The tail keeps running.
    this.#tailing?.mute();
    const json = out.json(await runVerifyWithProgress(this.#contextFor(out), VERIFY_ORDER));
    this.say('both sides are equal, and the application did not stop for it');
    return json;
  }

  /** Runs `cosmig cutover` while a dead letter is open, which closes the gate. Returns how the cutover ended. */
  async refusedCutover(): Promise<string> {
    const nothing = async (): Promise<void> => {};
    try {
      await this.#cutOver('cosmig cutover', { stopWriters: nothing, onCommit: nothing, onAbort: nothing });
    } catch (error) {
      if (!(error instanceof NotReadyError)) throw error;
      const refusal = `exit code ${error.exitCode}: ${error.message}`;
      this.say(`refused, as it has to be: ${refusal}`);
      return refusal;
    }
    return 'the gate was open';
  }

  async discard(number: number): Promise<void> {
    this.#begin(`cosmig dead-letters discard ${number}`);
    const { discardLetters } = await import('../workflows/dead-letters.ts');
    const { discarded, deadLetters } = discardLetters(
      this.#local.ledger,
      { number },
      this.#context.clock.now(),
    );
    this.say(
      `the shop decides that this copy of the invoice stays in the source only: ${pluralize(discarded, 'dead letter')} discarded, ${deadLetters.open} still open`,
    );
  }

  /** Runs `cosmig cutover`. `keeps`: whether it makes a way back. */
  async cutOver(hooks: DemoHooks, { keeps }: { readonly keeps: boolean }): Promise<Json> {
    const keep = keeps ? '--keep-source-for 7d ' : '';
    const line = `cosmig cutover ${keep}--like-source throughput --on-fence ...`;
    return this.#cutOver(line, hooks, keeps ? { keepSourceFor: ['7d'] } : {});
  }

  /** Runs `cosmig reverse` until `work` has ended. */
  async reverseWhile(work: () => Promise<void>): Promise<Json> {
    const out = (this.#tailing = this.#begin('cosmig reverse'));
    using stop = new ChildSignal(this.#signal);
    const context = this.#contextFor(out, { signal: stop.signal });
    const reversing = inTurn(context, 'back', async (turned) => {
      // The demo stops the run, which is not an error.
      await this.#untilStopped(turned, { command: 'reverse', signal: stop.signal });
      return undefined;
    });
    this.say('replicates what the application writes to the target back to the source');
    const working = work().finally(() => stop.abort(new CanceledError('SIGINT')));
    await Promise.all([working, reversing]);
    return out.json();
  }

  async verifyReverse(): Promise<void> {
    const out = this.#begin('cosmig verify --reverse');
    this.#tailing?.mute();
    await inTurn(this.#contextFor(out), 'back', async (turned) =>
      runVerifyWithProgress(turned, VERIFY_ORDER),
    );
    this.say('both sides are equal in this direction as well');
  }

  async rollBack(hooks: DemoHooks): Promise<Json> {
    const out = this.#begin('cosmig rollback --on-fence ...');
    const order = { ...hooks, ...TIMES, likeSource: [] } as const;
    const result = await inTurn(this.#contextFor(out), 'back', async (turned) =>
      runCutoverWithProgress(turned, order, { command: 'rollback' }),
    );
    return out.json(result);
  }

  async #cutOver(line: string, hooks: DemoHooks, options: SpecContext['options'] = {}): Promise<Json> {
    const out = this.#begin(line);
    const order = { ...hooks, ...TIMES, likeSource: ['throughput'] } as const;
    const context = this.#contextFor(out, { options });
    const result = await runCutoverWithProgress(context, order, { command: 'cutover' });
    out.hideLive();
    return out.json(result);
  }

  /** Prints the command line of a step; returns the reporter of the step. */
  #begin(line: string): CapturingReporter {
    // The line of the step before would go on below the name of this one until this one shows progress.
    this.#context.out.hideLive();
    this.#context.out.note(`$ ${line}`);
    return new CapturingReporter(this.#context);
  }

  #contextFor(
    out: Reporter,
    {
      options = {},
      signal = this.#signal,
    }: { readonly options?: SpecContext['options']; readonly signal?: AbortSignal } = {},
  ): SpecContext & TurnContext {
    const { config, env } = this.#local;
    return {
      ...this.#context,
      options: { source: [], target: [], ledger: [], config: [config], ...options },
      operand: undefined,
      signal,
      out,
      env,
    };
  }
}

/**
 * A reporter that keeps the result of a step. What the command reports is logged for --verbose, since the demo says in a
 * line of its own what came of the step.
 */
class CapturingReporter implements Reporter {
  readonly #context: Context;
  #result: Result | undefined;
  #isMuted = false;

  constructor(context: Context) {
    this.#context = context;
  }

  json(result: Result | undefined = this.#result): Json {
    return result?.json ?? {};
  }

  note(text: string): void {
    this.#context.log.debug(text);
  }

  progress(...shown: Parameters<Reporter['progress']>): void {
    if (!this.#isMuted) this.#context.out.progress(...shown);
  }

  hideLive(): void {
    this.#context.out.hideLive();
  }

  /** Stops showing progress. */
  mute(): void {
    this.#isMuted = true;
  }

  announce(result: Result): void {
    this.#result = result;
  }

  async line(): Promise<boolean> {
    return true;
  }
}
