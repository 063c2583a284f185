/**
 * One fault run of a migration, from its seed: an emulator, an application that keeps writing, trouble, and a mover
 * that is killed and started again until it ends by itself; then the oracle, and the same again after another
 * while of writing. Each is a process of its own.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { RunSnapshot } from '../../../../src/engine/progress/snapshot.ts';
import { seededRandom, type Random } from '../../../../src/lib/random.ts';
import { inFolder, RunFailure, type RunOptions } from '../fault-run.ts';
import type { EmulatorProcess } from '../emulator/process.ts';
import { pick } from '../seed.ts';
import type { ApplicationOrder } from './application-child.ts';
import { strangerOf } from './documents.ts';
import { valueAt } from './keys.ts';
import type { MoverOrder } from './mover-child.ts';
import { copyIdentity, judge, type Situation } from './oracle.ts';
import { MigrationProcess, type Ended } from './process.ts';
import { readAll, readLetters } from './reading.ts';
import { scenarioOf, shownKill, shownScenario, templateOf, type Kill, type Scenario } from './scenario.ts';
import {
  letExpire,
  moveClock,
  NETWORK_LATE_SHARE,
  networkOf,
  pullLevers,
  RANGES_MAX,
  rulesOf,
  type Levers,
  type Stage,
} from './trouble.ts';
import { replayCommand } from './seeds.ts';
import { RoughNetwork, type NetworkTrouble } from '../../../helpers/emulator/rough-network.ts';
import { WireContainer } from '../../../helpers/emulator/wire-container.ts';

const DATABASE = 'shop';
const SOURCE = 'source';
const TARGET = 'target';
/** A machine with two busy cores starts a process in seconds. */
const START_WITHIN_MS = 60_000;
/** A run that only waits is stuck. None of its waits is so long; with giants its requests may take 7 s. */
const STUCK_AFTER_MS = 60_000;
/** The longest that a run to its end may take, storms and all, on a busy machine. */
const END_WITHIN_MS = 300_000;
/** How long to wait for the point of a kill. */
const POINT_WITHIN_MS = 90_000;
/** The service may stay away longer than a mover waits; it is started again so often. */
const STARTS_MAX = 8;
/** Done; dead letters are open; the service stayed away; stopped. */
const DONE = [0, 5];
const AWAY = 6;
const STOPPED = 143;

/** What a run was like. */
export interface RunReport {
  readonly seed: number;
  readonly durationMs: number;
  readonly starts: number;
  readonly kills: readonly string[];
  /** How many kills found their point. */
  readonly struck: number;
  readonly documents: {
    readonly source: number;
    readonly target: number;
    readonly letters: Readonly<Record<string, number>>;
  };
  readonly versions: number;
  readonly levers: Levers;
  /** How many times each trouble below HTTP has struck. */
  readonly network: Readonly<Partial<Record<NetworkTrouble, number>>>;
  readonly passings: Readonly<Record<string, number>>;
  /** Milliseconds of each part of the run. */
  readonly parts: Readonly<Record<string, number>>;
}

/** Runs a seed; a RunFailure says what is wrong. */
export async function runMigration(seed: number, options: RunOptions = {}): Promise<RunReport> {
  const place = { ...options, name: `faults-${seed}`, replay: replayCommand(seed) };
  return inFolder(place, async (emulator, folder) => {
    const { requestTimeoutMs } = scenarioOf(seed);
    await using network = await RoughNetwork.open(emulator.endpoint, {
      random: seededRandom(seed ^ 0x0e7),
      lateMs: requestTimeoutMs * NETWORK_LATE_SHARE,
    });
    return await new MigrationRun(seed, { emulator, network, folder }).run();
  });
}

interface Place {
  readonly emulator: EmulatorProcess;
  readonly network: RoughNetwork;
  readonly folder: string;
}

class MigrationRun {
  readonly #seed: number;
  readonly #scenario: Scenario;
  readonly #random: Random;
  readonly #emulator: EmulatorProcess;
  /** Between the mover and the emulator. */
  readonly #network: RoughNetwork;
  readonly #folder: string;
  readonly #stage: Stage;
  readonly #levers: Levers = { splits: 0, merges: 0, clockMs: 0 };
  readonly #source: WireContainer;
  readonly #target: WireContainer;
  readonly #seenSolos = new Set<string>();
  readonly #strangers: string[] = [];
  readonly #kills: string[] = [];
  readonly #passings: Record<string, number> = {};
  readonly #parts: Record<string, number> = {};
  /** The run before ended by itself. */
  #wasOrderly = true;
  #starts = 0;
  #struck = 0;

  constructor(seed: number, { emulator, network, folder }: Place) {
    this.#seed = seed;
    this.#scenario = scenarioOf(seed);
    this.#random = seededRandom(seed ^ 0x5eed);
    this.#emulator = emulator;
    this.#network = network;
    this.#folder = folder;
    this.#source = new WireContainer(emulator.raw, DATABASE, SOURCE);
    this.#target = new WireContainer(emulator.raw, DATABASE, TARGET);
    this.#stage = {
      scenario: this.#scenario,
      admin: emulator.admin,
      source: this.#source.adminPath,
      target: this.#target.adminPath,
      random: this.#random,
    };
  }

  async run(): Promise<RunReport> {
    const beganAt = Date.now();
    const scenario = this.#scenario;
    await this.#prepare();
    await this.#whileWriting({ round: 0, fills: true }, async () => {
      await this.#trouble();
      for (const kill of scenario.copyKills) await this.#strike('copy', kill);
      await this.#toTheEnd('copy');
      await this.#checkSolos('at the end of the copy');
      for (const kill of scenario.tailKills) {
        if (scenario.strangers) await this.#letInStrangers();
        await this.#strike('tail', kill);
      }
    });
    await this.#quiet('after the tail');
    // What the ledger believes shows in what comes next.
    await this.#whileWriting({ round: 1, fills: false }, async () => {
      await this.#strike('tail', { by: 'time', afterMs: 700 });
    });
    const { source, target, letters, versions } = await this.#quiet('after another while of writing');
    const counts: Record<string, number> = {};
    for (const { reason } of letters) counts[reason] = (counts[reason] ?? 0) + 1;
    return {
      seed: this.#seed,
      durationMs: Date.now() - beganAt,
      starts: this.#starts,
      kills: this.#kills,
      struck: this.#struck,
      documents: { source: source.length, target: target.length, letters: counts },
      versions: [...versions.values()].reduce((sum, texts) => sum + texts.size, 0),
      levers: this.#levers,
      network: this.#network.struck,
      passings: this.#passings,
      parts: this.#parts,
    };
  }

  async #prepare(): Promise<void> {
    const {
      deletes,
      pageBytes,
      sourceKey,
      key,
      sourceRanges,
      targetRanges,
      uniqueKeys,
      ttl,
      defaultTtl,
      giants,
      resizes,
    } = this.#scenario;
    const { admin, raw } = this.#emulator;
    await admin.account({ avad: deletes === 'avad', pageBytes, ttlPurgeDelayMs: 500 });
    // A giant costs more than a thousand RU: with 400 a second writing them would never end. And where ranges are
    // split a range may be left with all documents and a small part of the whole.
    const throughput = giants ? 10_000 : resizes ? 400 * RANGES_MAX : 400;
    const headers = { 'x-ms-offer-throughput': `${throughput}` };
    const lifetime = ttl === 'none' ? {} : { defaultTtl };
    const definition = (paths: readonly string[]): object => ({
      paths,
      kind: paths.length > 1 ? 'MultiHash' : 'Hash',
      version: 2,
    });
    const unique = uniqueKeys ? { uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/unique'] }] } } : {};
    const post = async (path: string, body: object): Promise<void> => {
      const reply = await raw.send('POST', path, { body: JSON.stringify(body), headers });
      if (reply.status !== 201) throw new Error(`${path}: ${reply.status} ${reply.text}`);
    };
    await post('/dbs', { id: DATABASE });
    await post(`/dbs/${DATABASE}/colls`, { id: SOURCE, partitionKey: definition(sourceKey), ...lifetime });
    await post(`/dbs/${DATABASE}/colls`, {
      id: TARGET,
      partitionKey: definition(key.partitionKey),
      ...lifetime,
      ...unique,
    });
    for (const [wire, count] of [
      [this.#source, sourceRanges],
      [this.#target, targetRanges],
    ] as const) {
      for (let ranges = await wire.ranges(); ranges.length < count; ranges = await wire.ranges())
        await admin.split(wire.adminPath, { rangeId: pick(this.#random, ranges).id });
    }
  }

  async #trouble(): Promise<void> {
    const { admin } = this.#emulator;
    await admin.account({ replicaLagMs: this.#scenario.replicaLagMs });
    await admin.faults(rulesOf(this.#scenario), this.#seed + this.#starts);
    this.#network.plan = networkOf(this.#scenario);
  }

  /** The application writes and levers are pulled while `work` goes on. */
  async #whileWriting(
    { round, fills }: { readonly round: number; readonly fills: boolean },
    work: () => Promise<void>,
  ): Promise<void> {
    const order: ApplicationOrder = {
      endpoint: this.#emulator.endpoint,
      key: this.#emulator.key,
      database: DATABASE,
      container: SOURCE,
      scenarioSeed: this.#seed,
      seed: this.#seed + round,
      fills,
      log: this.#versionLog,
    };
    await using application = new MigrationProcess(
      new URL('application-child.ts', import.meta.url),
      order,
      this.#log('application'),
    );
    if ((await application.line((line) => line === 'writing', START_WITHIN_MS)) === undefined)
      throw this.#failure('the application did not start', [`see ${this.#log('application')}`]);
    const calm = new AbortController();
    const levers = pullLevers(this.#stage, this.#levers, calm.signal);
    try {
      await Promise.race([work(), levers.then(() => new Promise<never>(() => undefined))]);
    } finally {
      calm.abort();
      await levers;
    }
    application.stop();
    const { code } = await application.ended;
    if (code !== 0) throw this.#failure(`the application ended with ${code}`, []);
  }

  /** A foreign process writes into the target; where a copy exists already, its create is refused. */
  async #letInStrangers(): Promise<void> {
    // What is not answered would be there or not.
    await this.#emulator.admin.clearFaults();
    for (let tries = 0; tries < 4; tries += 1) {
      const text = strangerOf(this.#scenario, this.#random, this.#strangers.length + 1);
      const parsed: unknown = JSON.parse(text);
      const key = this.#scenario.key.partitionKey.map((path) => valueAt(parsed, path));
      const reply = await this.#target.create(text, key);
      if (reply.status === 201) this.#strangers.push(text);
    }
    await this.#trouble();
  }

  #order(goal: MoverOrder['goal'], kill?: Kill): MoverOrder {
    const { key, missingKey, deletes, ttl, requestTimeoutMs } = this.#scenario;
    return {
      goal,
      options: {
        source: [`${DATABASE}/${SOURCE}`],
        target: [`${DATABASE}/${TARGET}`],
        sourceEndpoint: [this.#network.endpoint],
        partitionKey: key.partitionKey,
        derive: key.derive.map(templateOf),
        ...(key.keepSourceKeyAs === undefined ? {} : { keepSourceKeyAs: [key.keepSourceKeyAs] }),
        missingKey: [missingKey],
        deletes: [deletes === 'marker' ? 'marker:/isDeleted' : deletes],
        ttl: [ttl === 'remaining' ? 'remaining' : 'restart'],
        ledger: [this.#ledger],
        yes: ['true'],
      },
      env: { COSMIG_SOURCE_KEY: this.#emulator.key },
      folder: this.#folder,
      requestTimeoutMs,
      seed: this.#seed + this.#starts,
      ...(kill?.by === 'point' ? { kill: { point: kill.point, passing: kill.passing } } : {}),
    };
  }

  #start(goal: MoverOrder['goal'], kill?: Kill): MigrationProcess {
    this.#starts += 1;
    return new MigrationProcess(
      new URL('mover-child.ts', import.meta.url),
      this.#order(goal, kill),
      this.#log('mover'),
    );
  }

  /** Starts a mover that does not live long. */
  async #strike(goal: 'copy' | 'tail', kill: Kill): Promise<void> {
    const beganAt = Date.now();
    await using mover = this.#start(goal, kill);
    await mover.line((line) => line.startsWith('{"started"'), START_WITHIN_MS);
    const isByPoint = kill.by === 'point';
    if (isByPoint) await mover.line(isReading, END_WITHIN_MS);
    const livesMs = isByPoint
      ? goal === 'copy'
        ? POINT_WITHIN_MS
        : 800 + this.#random.below(1_700)
      : kill.afterMs;
    const ended = await Promise.race([mover.ended, delay(livesMs, undefined, { ref: false })]);
    let isOrderly = false;
    if (ended?.signal === 'SIGKILL') this.#struck += 1;
    else if (ended !== undefined) {
      this.#assertEndedWell(mover, ended, [...DONE, AWAY]);
      isOrderly = true;
    } else if (goal === 'tail' && this.#random.below(3) === 0) {
      mover.stop();
      const last = await this.#awaitEnd(mover);
      // Its point may come while it finishes what is in flight.
      isOrderly = last.signal !== 'SIGKILL';
      if (isOrderly) this.#assertEndedWell(mover, last, [...DONE, AWAY, STOPPED]);
    } else await mover.kill();
    this.#kills.push(`${goal} ${shownKill(kill)} (${Math.round((Date.now() - beganAt) / 100) / 10} s)`);
    this.#count(mover);
    await this.#checkSolos(`when ${goal} was struck (${shownKill(kill)})`);
    // A run that was stopped before it read anything has settled nothing of what the run before it left.
    this.#wasOrderly = isOrderly && (this.#wasOrderly || mover.lines.some(isReading));
    if (this.#scenario.ttl === 'remaining')
      await moveClock(this.#stage, this.#levers, this.#random.below(15));
  }

  /** Starts movers until one says that it is done. */
  async #toTheEnd(goal: 'copy' | 'catch-up'): Promise<void> {
    for (let start = 1; ; start += 1) {
      const beganAt = Date.now();
      await using mover = this.#start(goal);
      const ended = await this.#awaitEnd(mover);
      this.#parts[goal] = (this.#parts[goal] ?? 0) + Date.now() - beganAt;
      this.#count(mover);
      const said = this.#assertEndedWell(mover, ended, start < STARTS_MAX ? [...DONE, AWAY] : DONE);
      if (said.exitCode === AWAY) continue;
      this.#wasOrderly = true;
      // It may have settled what another left.
      this.#seenSolos.clear();
      return;
    }
  }

  async #awaitEnd(mover: MigrationProcess): Promise<Ended> {
    const beganAt = Date.now();
    let [done, doneAt] = ['', beganAt];
    for (;;) {
      const ended = await Promise.race([mover.ended, delay(1000, undefined, { ref: false })]);
      if (ended !== undefined) return ended;
      const last = mover.lines.at(-1) ?? 'it said nothing';
      const now = Date.now();
      const workDone = workIn(last);
      if (workDone !== done) [done, doneAt] = [workDone, now];
      if (now - doneAt > STUCK_AFTER_MS)
        throw this.#failure(`the mover did nothing for ${STUCK_AFTER_MS} ms`, [last]);
      if (now - beganAt > END_WITHIN_MS)
        throw this.#failure(`the mover did not end within ${END_WITHIN_MS} ms`, [last]);
    }
  }

  #assertEndedWell(mover: MigrationProcess, ended: Ended, allowed: readonly number[]): Said {
    const said = saidAtEnd(mover);
    if (said === undefined || !allowed.includes(said.exitCode))
      throw this.#failure(`the mover ended badly, with ${JSON.stringify(ended)}`, [
        JSON.stringify(said?.error ?? mover.lines.at(-1) ?? 'without a word', null, 1),
      ]);
    return said;
  }

  #count(mover: MigrationProcess): void {
    for (const [point, times] of Object.entries(saidAtEnd(mover)?.passings ?? {}))
      this.#passings[point] = (this.#passings[point] ?? 0) + times;
  }

  /** The application is stopped: catches up, and asks the oracle. */
  async #quiet(when: string): Promise<Situation> {
    const { admin } = this.#emulator;
    // Writes of the application that were held up have landed by then.
    await delay(this.#scenario.lateMs + 300);
    await letExpire(this.#stage, this.#levers);
    await this.#toTheEnd('catch-up');
    await admin.clearFaults();
    await admin.account({ replicaLagMs: 0 });
    await delay(this.#scenario.lateMs);
    const situation: Situation = {
      scenario: this.#scenario,
      source: await readAll(this.#source),
      target: await readAll(this.#target),
      letters: readLetters(this.#ledger),
      strangers: this.#strangers,
      versions: this.#versions(),
    };
    const wrong = judge(situation);
    if (wrong.length > 0) throw this.#failure(`${wrong.length} things are wrong ${when}`, wrong.slice(0, 12));
    return situation;
  }

  /**
   * A document that cannot collide and is never deleted stays in the target from the first time on, also while it
   * moves. A run that had to settle what another left is exempt: settling takes copies away that have no place any
   * more, before their pages come again.
   */
  async #checkSolos(when: string): Promise<void> {
    await delay(this.#scenario.lateMs + 100);
    const texts = await this.#targetTexts();
    const there = new Set(texts.map((text) => copyIdentity(this.#scenario, JSON.parse(text))));
    const gone = [...this.#seenSolos].filter((identity) => !there.has(identity));
    if (gone.length > 0 && this.#wasOrderly)
      throw this.#failure(`documents vanished ${when}`, gone.slice(0, 12));
    this.#seenSolos.clear();
    for (const identity of there) if (isSolo(identity)) this.#seenSolos.add(identity);
  }

  async #targetTexts(): Promise<string[]> {
    const { admin } = this.#emulator;
    await admin.clearFaults();
    await admin.account({ replicaLagMs: 0 });
    const texts = await readAll(this.#target);
    await this.#trouble();
    return texts;
  }

  #versions(): Map<string, Set<string>> {
    const versions = new Map<string, Set<string>>();
    for (const line of readFileSync(this.#versionLog, 'utf8').split('\n')) {
      if (line === '') continue;
      const [identity, text] = JSON.parse(line) as [string, string];
      const texts = versions.get(identity);
      if (texts === undefined) versions.set(identity, new Set([text]));
      else texts.add(text);
    }
    return versions;
  }

  get #ledger(): string {
    return join(this.#folder, 'ledger.db');
  }

  get #versionLog(): string {
    return join(this.#folder, 'versions.jsonl');
  }

  #log(name: string): string {
    return join(this.#folder, `${name}.log`);
  }

  #failure(what: string, details: readonly string[]): RunFailure {
    const lines = [
      what,
      ...details,
      shownScenario(this.#scenario),
      `so far: ${this.#kills.join(', ') || 'no kill'}`,
    ];
    return new RunFailure(lines.join('\n  '), this.#folder);
  }
}

interface Said {
  readonly exitCode: number;
  readonly error?: unknown;
  readonly passings: Readonly<Record<string, number>>;
}

function saidAtEnd(mover: MigrationProcess): Said | undefined {
  const line = mover.lines.findLast((each) => each.startsWith('{"ended"'));
  return line === undefined ? undefined : (JSON.parse(line) as Said);
}

/** What a mover has done by its last line, without how long that took and what it waits for. */
function workIn(line: string): string {
  if (!line.startsWith('{"snapshot"')) return line;
  const { snapshot } = JSON.parse(line) as { readonly snapshot: RunSnapshot };
  const { phase, documents, ru, throttled, ranges } = snapshot;
  return JSON.stringify({ phase, documents, ru, throttled, ranges });
}

function isReading(line: string): boolean {
  return line.startsWith('{"reading"');
}

function isSolo(identity: string): boolean {
  return identity.startsWith('["solo-') || identity.startsWith('["ballast-');
}
