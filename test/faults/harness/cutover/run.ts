/**
 * One fault run of a cutover, from its seed: an application writes, and tail, verify and cutover are killed and begun
 * again until the journal says "committed". Invariants: whenever it says so, the application no longer writes to the
 * source, and the oracle finds both sides equal; after every death the command that status names leads on.
 */
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { seededRandom } from '../../../../src/lib/random.ts';
import { planOf, shownBlow, type Attempt, type Blow, type CutoverPlan } from './scenario.ts';
import { CutoverStage, type Ended } from './stage.ts';
import { inFolder, RunFailure, type RunOptions } from '../fault-run.ts';
import type { EmulatorProcess } from '../emulator/process.ts';
import { rowsIn } from '../../../helpers/database-file.ts';
import { copyIdentity, judge, sourceIdentity } from '../migration/oracle.ts';
import { readAll, readLetters } from '../migration/reading.ts';
import { shownScenario } from '../migration/scenario.ts';
import { letExpire, pullLevers, rulesOf, type Levers, type Stage } from '../migration/trouble.ts';
import { within } from '../../../helpers/wait.ts';

const END_WITHIN_MS = 120_000;
/** Tries of what may have bad luck. */
const TRIES_MAX = 6;
/** Steps that status may take to lead to the end. */
const STEPS_MAX = 12;

export interface CutoverReport {
  readonly seed: number;
  readonly durationMs: number;
  readonly starts: number;
  readonly struck: number;
  readonly blows: readonly string[];
  readonly documents: number;
  readonly levers: Levers;
}

/** Runs a seed; a RunFailure says what is wrong. */
export async function runCutovers(seed: number, options: RunOptions = {}): Promise<CutoverReport> {
  const replay = `COSMIG_SEED=${seed} npm run torture -- --cutover --runs 1`;
  const place = { ...options, name: `cutover-${seed}`, replay };
  return inFolder(place, (emulator, folder) => new CutoverRun(seed, emulator, folder).run());
}

/** What status says, as far as it is asked here. */
interface StatusJson {
  readonly phase: string;
  readonly next: string;
}

class CutoverRun {
  readonly #seed: number;
  readonly #plan: CutoverPlan;
  readonly #emulator: EmulatorProcess;
  readonly #folder: string;
  readonly #stage: CutoverStage;
  readonly #trouble: Stage;
  readonly #levers: Levers = { splits: 0, merges: 0, clockMs: 0 };
  readonly #blows: string[] = [];
  #starts = 0;
  #struck = 0;

  constructor(seed: number, emulator: EmulatorProcess, folder: string) {
    this.#seed = seed;
    this.#plan = planOf(seed);
    this.#emulator = emulator;
    this.#folder = folder;
    const { scenario } = this.#plan;
    this.#stage = new CutoverStage(scenario, emulator, folder);
    this.#trouble = {
      scenario,
      admin: emulator.admin,
      source: this.#stage.source.adminPath,
      target: this.#stage.target.adminPath,
      random: seededRandom(seed ^ 0x5eed),
    };
  }

  async run(): Promise<CutoverReport> {
    const beganAt = Date.now();
    await using stage = this.#stage;
    const { admin } = this.#emulator;
    const { scenario, copyBlow, attempts } = this.#plan;
    await stage.prepare();
    await stage.startApplication(this.#seed);
    await admin.account({ replicaLagMs: scenario.replicaLagMs });
    await admin.faults(rulesOf(scenario), this.#seed);
    const calm = new AbortController();
    const levers = pullLevers(this.#trouble, this.#levers, calm.signal);
    let documents = 0;
    try {
      if (copyBlow !== null) await this.#strike(stage.spec('copy'), copyBlow);
      await this.#insist(stage.spec('copy'), [0, 5]);
      for (const attempt of attempts) if (!this.#isCommitted()) await this.#attempt(attempt);
      if (this.#plan.inWindow && !this.#isCommitted()) await this.#clearLetters();
      await this.#followToTheEnd();
    } finally {
      calm.abort();
      await levers;
    }
    documents = await this.#judge('at the end');
    // Run again, it reports what was done and does nothing.
    const again = await this.#run(this.#cutover(null));
    if (again.code !== 0) throw this.#failure('a cutover after the commit did not end well', again);
    await this.#judge('after being asked again');
    return {
      seed: this.#seed,
      durationMs: Date.now() - beganAt,
      starts: this.#starts,
      struck: this.#struck,
      blows: this.#blows,
      documents,
      levers: this.#levers,
    };
  }

  /** A verify alongside a tail, then a cutover; some of the three are killed. */
  async #attempt(attempt: Attempt): Promise<void> {
    const { blow, fails, proves, verifyBlow, tailBlow, letsWritersOn, isFollowed } = attempt;
    if (this.#plan.inWindow) await this.#clearLetters();
    if (proves) await this.#prove(verifyBlow, tailBlow);
    const ended = await this.#strike(this.#cutover(blow, fails), blow);
    if (this.#isCommitted()) return;
    // Back on the source: by the hook, or by the operator who finds a dead process.
    if (letsWritersOn && !this.#plan.inWindow) this.#stage.letWritersOn();
    if (ended.signal === 'SIGKILL' && isFollowed) await this.#follow();
  }

  #cutover(blow: Blow | null, fails?: 'fence'): string[] {
    const stop = this.#plan.inWindow ? ['--writers-stopped'] : this.#stage.hooks(blow, fails);
    return [
      ...this.#stage.spec('cutover'),
      ...stop,
      '--quiet-for',
      '1s',
      '--watch-writes',
      '1s',
      '--deadline',
      '1m',
    ];
  }

  /** In a window without writes, documents that cannot be moved are waived. */
  async #clearLetters(): Promise<void> {
    await this.#stage.stopWriters();
    await this.#insist([...this.#stage.spec('tail'), '--until-caught-up'], [0, 5]);
    const reasons = new Set(readLetters(this.#stage.ledger).map(({ reason }) => reason));
    const discard = ['dead-letters', 'discard', '--ledger', this.#stage.ledger, '--all', '--yes'];
    for (const reason of reasons) await this.#insist([...discard, '--reason', reason], [0]);
  }

  /** Alongside a tail, while the application writes; then, if that proves nothing, in a lull with nothing in flight. */
  async #prove(verifyBlow: Blow | null, tailBlow: Blow | null): Promise<void> {
    const verify = [...this.#stage.spec('verify'), '--deadline', '3s'];
    {
      await using tail = this.#stage.start(this.#stage.spec('tail'), tailBlow);
      this.#starts += 1;
      const proven = await this.#strike(verify, verifyBlow);
      tail.kill(proven.code === 0 ? 'SIGTERM' : 'SIGKILL');
      const { code, signal, stderr } = await tail.ended;
      // The service may stay away; and it may have met its moment.
      if (signal === null && ![0, 5, 6, 143].includes(code ?? -1))
        throw this.#failure(`the tail ended with ${code}`, { stderr, stdout: '' });
      if (proven.code === 0) return;
    }
    await this.#stage.stopWriters();
    for (let tried = 1, code: number | null = null; code !== 0 && tried <= TRIES_MAX; tried += 1) {
      await this.#insist([...this.#stage.spec('tail'), '--until-caught-up'], [0, 5]);
      // Deletes that no feed reports are found by a repair.
      ({ code } = await this.#run([...verify, '--repair']));
    }
    if (!this.#plan.inWindow) this.#stage.letWritersOn();
  }

  /** Runs it, killed if its moment comes; any end with an exit code is allowed. */
  async #strike(argv: readonly string[], blow: Blow | null): Promise<Ended> {
    const ended = await this.#run(argv, blow);
    if (ended.signal === 'SIGKILL' && blow !== null) {
      this.#struck += 1;
      this.#blows.push(`${ended.command} ${shownBlow(blow)}`);
      if (this.#isCommitted()) await this.#judge(`when ${this.#blows.at(-1)} had struck`);
    }
    return ended;
  }

  async #run(argv: readonly string[], blow: Blow | null = null): Promise<Ended> {
    this.#starts += 1;
    await using child = this.#stage.start(argv, blow);
    const ended = await within(child.ended, END_WITHIN_MS, argv[0] ?? '');
    // Differences are expected only where no feed reports deletes.
    const allowed = [0, 3, 5, 6, 9, ...(this.#plan.scenario.deletes === 'avad' ? [] : [4])];
    const isStruck = ended.signal === 'SIGKILL' && blow !== null;
    if (!isStruck && !allowed.includes(ended.code ?? -1))
      throw this.#failure(`${ended.command} ended with ${ended.code ?? ended.signal}`, ended);
    const saysCommitted = ended.code !== null && [0, 4, 9].includes(ended.code);
    if (argv[0] === 'cutover' && ended.code !== null && saysCommitted !== this.#isCommitted())
      throw this.#failure(
        `${ended.command} ended with ${ended.code}, which is wrong about the commit`,
        ended,
      );
    return ended;
  }

  async #insist(argv: readonly string[], wanted: readonly number[]): Promise<void> {
    for (let tried = 1; ; tried += 1) {
      const ended = await this.#run(argv);
      if (wanted.includes(ended.code ?? -1)) return;
      if (tried === TRIES_MAX) throw this.#failure(`${ended.command} does not get to its end`, ended);
    }
  }

  async #status(): Promise<StatusJson> {
    const { code, stdout, stderr } = await this.#run(['status', '--ledger', this.#stage.ledger, '--json']);
    if (code !== 0) throw this.#failure(`status ended with ${code}`, { stdout, stderr });
    return JSON.parse(stdout) as StatusJson;
  }

  /** In our own words: asking status costs a process each time. */
  #isCommitted(): boolean {
    if (!existsSync(this.#stage.ledger)) return false;
    const rows = rowsIn(this.#stage.ledger, "SELECT 1 FROM migration WHERE phase = 'committed'");
    return rows.length > 0;
  }

  /** Runs every command that status names; each of them gets to an end of its own. */
  async #follow(): Promise<StatusJson> {
    const status = await this.#status();
    const named = [...status.next.matchAll(/cosmig ([a-z]+)/g)].map(([, name]) => name ?? '');
    if (named.length === 0 && !status.next.startsWith('nothing'))
      throw this.#failure(`status names no command: ${status.next}`, { stdout: '', stderr: '' });
    for (const name of named) {
      if (name === 'cutover') await this.#run(this.#cutover(null));
      else if (name === 'tail') await this.#run([...this.#stage.spec('tail'), '--until-caught-up']);
      else if (name === 'verify') await this.#prove(null, null);
      else if (name === 'dead') await this.#clearLetters();
      else await this.#run(this.#stage.spec(name));
      if (this.#isCommitted()) await this.#judge(`after ${name}, which status has named`);
    }
    return this.#status();
  }

  async #followToTheEnd(): Promise<void> {
    for (let step = 1; ; step += 1) {
      const status = await this.#follow();
      if (status.phase === 'committed') return;
      if (step === STEPS_MAX)
        throw this.#failure('what status says does not lead to the end', { stdout: '', stderr: status.next });
    }
  }

  /** Both sides as they are, at a moment at which the journal says that the target is in use. */
  async #judge(when: string): Promise<number> {
    const { admin } = this.#emulator;
    const { scenario } = this.#plan;
    if (this.#stage.isWriting) throw this.#failure(`committed with writers on, ${when}`);
    await admin.clearFaults();
    await admin.account({ replicaLagMs: 0 });
    await delay(scenario.lateMs);
    await letExpire(this.#trouble, this.#levers);
    // A waived document is not expected in the target.
    const waived = new Set(readLetters(this.#stage.ledger, ['discarded']).map(({ identity }) => identity));
    const source = (await readAll(this.#stage.source)).filter(
      (text) => !waived.has(sourceIdentity(scenario, JSON.parse(text))),
    );
    const target = (await readAll(this.#stage.target)).filter(
      (text) => !waived.has(copyIdentity(scenario, JSON.parse(text))),
    );
    const wrong = judge({
      // Changes that no feed reports are reconciled by now.
      scenario: { ...scenario, deletes: scenario.deletes === 'marker' ? 'marker' : 'avad' },
      source,
      target,
      letters: readLetters(this.#stage.ledger),
      strangers: [],
      versions: this.#versions(),
    });
    if (wrong.length > 0)
      throw this.#failure(`${wrong.length} things are wrong ${when}`, {
        stdout: wrong.slice(0, 12).join('\n  '),
        stderr: '',
      });
    await admin.account({ replicaLagMs: scenario.replicaLagMs });
    await admin.faults(rulesOf(scenario), this.#seed + this.#starts);
    return source.length;
  }

  #versions(): Map<string, Set<string>> {
    const versions = new Map<string, Set<string>>();
    for (const line of readFileSync(this.#stage.versions, 'utf8').split('\n')) {
      if (line === '') continue;
      const [identity, text] = JSON.parse(line) as [string, string];
      versions.set(identity, (versions.get(identity) ?? new Set()).add(text));
    }
    return versions;
  }

  #failure(what: string, said: Pick<Ended, 'stdout' | 'stderr'> = { stdout: '', stderr: '' }): RunFailure {
    const lines = [
      what,
      said.stdout.slice(-3_000),
      said.stderr.slice(-3_000),
      shownScenario(this.#plan.scenario),
      `so far: ${this.#blows.join(', ') || 'nothing struck'}`,
    ];
    return new RunFailure(lines.filter((line) => line !== '').join('\n  '), this.#folder);
  }
}
