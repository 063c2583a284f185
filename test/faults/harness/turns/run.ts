/**
 * One fault run there and back and there again, from its seed: an application writes to the container that is in use,
 * ranges of both sides split, replies are lost, requests are throttled, and each command is a process that is killed at
 * random moments until it ends by itself. Invariant: after each switch the container in use is exactly what the
 * application wrote, and no document became a dead letter.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { seededRandom, type Random } from '../../../../src/lib/random.ts';
import { Move } from '../../../helpers/migration/move.ts';
import { envOf, PLACES } from '../../../helpers/migration/typed.ts';
import { startCosmig, type CosmigProcess } from '../../../helpers/process/cosmig-process.ts';
import type { Ran } from '../../../helpers/run-cosmig.ts';
import { Shop, type Side } from './shop.ts';

/** Kills of one command; after these it may end by itself. */
const KILLS_MAX = 2;
/** A process of the command line needs about this long before it does anything. */
const START_MS = 500;
const LIVES_MS = 1500;
/** How often a command is started again that the service or a fault has ended. */
const STARTS_MAX = 8;
/** With less, a command would wait for its budget for most of the time. */
const THROUGHPUT_RU = 10_000;
const SWITCH = ['--writers-stopped', '--quiet-for', '1s', '--watch-writes', '1s'];

export interface TurnsReport {
  readonly kills: number;
  readonly documents: number;
}

export async function runTurns(seed: number): Promise<TurnsReport> {
  const random = seededRandom(seed);
  const derives = random.below(2) === 0;
  await using move = await Move.open({
    settings: { avad: true, pageBytes: 2000 + random.below(20_000) },
    source: { throughput: THROUGHPUT_RU },
    target: { throughput: THROUGHPUT_RU, ...(derives ? { partitionKey: '/pk' } : {}) },
  });
  return await new TurnsRun(move, random, derives).run();
}

class TurnsRun {
  readonly #move: Move;
  readonly #random: Random;
  readonly #shop: Shop;
  readonly #key: readonly string[];
  #kills = 0;

  constructor(move: Move, random: Random, derives: boolean) {
    this.#move = move;
    this.#random = random;
    this.#shop = new Shop({ source: move.source, target: move.target }, random, { derives });
    this.#key = derives ? ['--derive', '/pk={tenantId}-key'] : ['--partition-key', '/tenantId'];
  }

  async run(): Promise<TurnsReport> {
    await this.#shop.fill(60 + this.#random.below(100));
    await this.#whileWriting(async () => {
      await this.#toItsEnd('copy', '--yes');
      await this.#trouble();
      await this.#toItsEnd('tail', '--until-caught-up');
    });
    // What was written last, so that a comparison has nothing to wait for.
    await this.#toItsEnd('tail', '--until-caught-up');
    await this.#switch('target', ['verify'], ['cutover', ...SWITCH, '--keep-source-for', '7d']);
    await this.#whileWriting(async () => {
      await this.#trouble();
      await this.#toItsEnd('reverse', '--until-caught-up');
    });
    await this.#toItsEnd('reverse', '--until-caught-up');
    await this.#switch('source', ['verify', '--reverse'], ['rollback', ...SWITCH]);
    await this.#whileWriting(async () => {
      await this.#trouble();
      await this.#toItsEnd('tail', '--until-caught-up');
    });
    await this.#toItsEnd('tail', '--until-caught-up');
    await this.#switch('target', ['verify'], ['cutover', ...SWITCH]);
    return { kills: this.#kills, documents: this.#shop.expected().length };
  }

  /** Proves and switches. The application writes nothing meanwhile, and uses the other side afterwards. */
  async #switch(to: Side, proof: readonly string[], command: readonly string[]): Promise<void> {
    await this.#move.admin.clearFaults();
    await this.#toItsEnd(...proof);
    await this.#toItsEnd(...command);
    this.#shop.use(to);
    const [found, expected] = [await this.#shop.read(to), this.#shop.expected()];
    const lost = expected.filter((text) => !found.includes(text));
    const extra = found.filter((text) => !expected.includes(text));
    if (lost.length + extra.length > 0)
      throw new Error(`the ${to} lacks ${lost.join()}, and has ${extra.join()} besides`);
  }

  async #whileWriting(work: () => Promise<void>): Promise<void> {
    const over = new AbortController();
    const writing = this.#shop.write(over.signal);
    try {
      await work();
    } finally {
      over.abort();
      await this.#move.admin.clearFaults();
      await writing;
    }
  }

  /** Splits a range of each side, and lets requests of the mover fail for a while. */
  async #trouble(): Promise<void> {
    const { admin } = this.#move;
    for (const path of ['shop/orders', 'shop/by-tenant'])
      if (this.#random.below(2) === 0) await admin.split(path, { durationMs: 200 });
    // Batches are the mover's: the application writes single documents.
    await admin.faults(
      [
        { match: { op: 'batch' }, every: 5 + this.#random.below(5), times: 6, effect: { reset: 'after' } },
        { match: { op: 'batch' }, every: 3, times: 20, effect: { status: 429, retryAfterMs: 20 } },
      ],
      this.#random.below(1000),
    );
  }

  /** Runs a command, kills it a few times, and then lets it end. */
  async #toItsEnd(...argv: readonly string[]): Promise<void> {
    for (let kills = this.#random.below(KILLS_MAX + 1); kills > 0; kills -= 1) {
      await using process = this.#start(argv);
      const ended = await Promise.race([
        process.ended.then(() => true),
        delay(START_MS + this.#random.below(LIVES_MS)).then(() => false),
      ]);
      if (ended) break;
      process.kill('SIGKILL');
      await process.ended;
      this.#kills += 1;
    }
    let last: Ran | undefined;
    for (let starts = 0; starts < STARTS_MAX; starts += 1) {
      await using process = this.#start(argv);
      last = await process.ended;
      if (last.code === 0) return;
      // A kill may have made the proof void.
      if (last.stderr.includes('no clean verification on record')) await this.#start(proofFor(argv)).ended;
    }
    throw new Error(`cosmig ${argv.join(' ')} ended with ${last?.code}: ${last?.stderr}`);
  }

  #start(argv: readonly string[]): CosmigProcess {
    return startCosmig([...argv, ...PLACES, ...this.#key], envOf(this.#move));
  }
}

function proofFor([command]: readonly string[]): readonly string[] {
  return command === 'rollback' ? ['verify', '--reverse'] : ['verify'];
}
