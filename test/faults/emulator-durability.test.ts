/**
 * An emulator with a data file is killed while it is written to, again and again. Invariant: what was
 * acknowledged is there to the byte, what was not is there as a whole or not at all, and everybody who
 * remembers a position, an id or a version goes on from it.
 */
import { CosmosClient, PartitionKeyKind, type Container, type OperationInput } from '@azure/cosmos';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Random } from '../../src/lib/random.ts';
import { FeedFollower } from './harness/emulator/feed.ts';
import { EmulatorProcess } from './harness/emulator/process.ts';
import { identityOf, Replay } from './harness/emulator/replay.ts';
import { pick, seeded } from './harness/seed.ts';
import { byFeed, byList, byQuery, differences, type Texts } from './harness/emulator/sets.ts';
import { sentPart } from './harness/emulator/texts.ts';
import { execIn } from '../helpers/database-file.ts';
import { headerOf, parseJson, type Reply } from '../helpers/emulator/raw.ts';
import { WireContainer, type Doc, type OperationResult } from '../helpers/emulator/wire-container.ts';
import { sized } from '../helpers/nightly.ts';

const ROUNDS = Number(process.env['COSMIG_KILLS'] ?? sized({ daily: 5, nightly: 10 }));
const LANES = 4;
/** Documents a lane writes to over and over. */
const LANE_DOCUMENTS = 25;
const BULK_SIZE = 60;
const RANGES_MAX = 10;
const BODY = {
  id: 'c',
  partitionKey: { paths: ['/pk'], kind: PartitionKeyKind.Hash, version: 2 },
  defaultTtl: -1,
};

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cosmig-durability-'));
  file = join(folder, 'account.db');
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A document as the test knows it: gone, or what was sent, and how it was stored once that was seen. */
interface Present {
  readonly sent: string;
  readonly etag?: string | undefined;
  readonly text?: string | undefined;
}
type Known = Present | 'gone';

interface Entry {
  now: Known;
  /** A write whose answer never came. */
  maybe: Known | undefined;
}

class Model {
  readonly #entries = new Map<string, Entry>();
  readonly #rids = new Set<string>();
  readonly #lsns = new Map<string, number>();

  get size(): number {
    return this.#entries.size;
  }

  isThere(identity: string): boolean {
    const now = this.#entries.get(identity)?.now ?? 'gone';
    return now !== 'gone';
  }

  /** Records a write that is about to be sent. */
  intend(identity: string, maybe: Known): void {
    const entry = this.#entries.get(identity) ?? { now: 'gone', maybe: undefined };
    if (entry.maybe !== undefined) throw new Error(`two writes of ${identity} at once`);
    entry.maybe = maybe;
    this.#entries.set(identity, entry);
  }

  /** The write was acknowledged, with this etag and `_rid`. */
  confirm(identity: string, stored: { etag?: string | undefined; rid?: string | undefined } = {}): void {
    const entry = this.#entries.get(identity);
    if (entry?.maybe === undefined) throw new Error(`nothing was intended for ${identity}`);
    if (entry.now === 'gone' && stored.rid !== undefined) this.#claim(stored.rid, identity);
    entry.now = entry.maybe === 'gone' ? 'gone' : { ...entry.maybe, etag: stored.etag };
    entry.maybe = undefined;
  }

  #claim(rid: string, identity: string): void {
    if (this.#rids.has(rid)) throw new Error(`the _rid ${rid} of ${identity} was used before`);
    this.#rids.add(rid);
  }

  /** Remembers the newest LSN that a range has reported. */
  sawLsn(reply: Reply): void {
    const [range = '', vector = ''] = headerOf(reply, 'x-ms-session-token').split(':-1#');
    this.#lsns.set(range, Math.max(this.#lsns.get(range) ?? 0, Number(vector)));
  }

  lsnOf(rangeId: string): number {
    return this.#lsns.get(rangeId) ?? 0;
  }

  /** Holds what is stored against what is known, and goes on from what is stored. Gives what is wrong. */
  settle(stored: Texts): string[] {
    const wrong: string[] = [];
    for (const identity of stored.keys())
      if (!this.#entries.has(identity)) wrong.push(`${identity} was never written`);
    for (const [identity, entry] of this.#entries) {
      const text = stored.get(identity);
      if (fits(entry.now, text)) {
        if (entry.now !== 'gone' && text !== undefined) entry.now = { ...entry.now, text };
      } else if (entry.maybe !== undefined && fits(entry.maybe, text)) {
        const rid = text === undefined ? undefined : (JSON.parse(text) as Doc)._rid;
        if (entry.now === 'gone' && rid !== undefined) this.#claim(rid, identity);
        entry.now = text === undefined ? 'gone' : { sent: sentPart(text), text };
      } else {
        wrong.push(
          `${identity} is ${text ?? 'gone'}; known ${JSON.stringify(entry.now)}, perhaps ${JSON.stringify(entry.maybe)}`,
        );
      }
      entry.maybe = undefined;
    }
    return wrong.slice(0, 20);
  }
}

function fits(known: Known, text: string | undefined): boolean {
  if (known === 'gone' || text === undefined) return known === 'gone' && text === undefined;
  if (known.text !== undefined) return known.text === text;
  if (known.etag !== undefined && (JSON.parse(text) as Doc)._etag !== known.etag) return false;
  return sentPart(text) === known.sent;
}

/** Everything one round of load needs. */
interface Load {
  readonly emulator: EmulatorProcess;
  readonly wire: WireContainer;
  readonly container: Container;
  readonly model: Model;
  readonly random: Random;
  readonly round: number;
  /** True from the moment of the kill: what fails then was meant to. */
  killed: boolean;
}

function documentText(id: string, pk: string, random: Random): string {
  const pad = 'x'.repeat(random.below(3) === 0 ? random.below(6_000) : random.below(200));
  return `{"id":"${id}","pk":"${pk}","n":${random.below(1e9)},"big":9223372036854775807,"dec":1.10,"esc":"\\u00e9\\/","pad":"${pad}"}`;
}

/** One writer over its own documents, one write at a time. */
async function writeSingly(load: Load, lane: number): Promise<void> {
  const { wire, model, random } = load;
  while (!load.killed) {
    const number = random.below(LANE_DOCUMENTS);
    const [id, pk] = [`lane ${lane}-${number}`, `key ${number % 7}`];
    const identity = identityOf(id, pk);
    const isThere = model.isThere(identity);
    const sent = documentText(id, pk, random);
    const kind = isThere ? pick(random, ['replace', 'upsert', 'delete']) : pick(random, ['create', 'upsert']);
    model.intend(identity, kind === 'delete' ? 'gone' : { sent });
    const reply = await answered(load, () => {
      if (kind === 'create') return wire.create(sent, [pk]);
      if (kind === 'upsert') return wire.upsert(sent, [pk]);
      return kind === 'replace' ? wire.replace(id, sent, [pk]) : wire.delete(id, [pk]);
    });
    if (reply === undefined) return;
    if (reply.status >= 300) throw new Error(`${kind} of ${identity}: ${reply.status} ${reply.text}`);
    const stored = kind === 'delete' ? undefined : parseJson<Doc>(reply);
    model.confirm(identity, { etag: stored?._etag, rid: stored?._rid });
    model.sawLsn(reply);
  }
}

/** The answer of a request; undefined when the process was killed first. */
async function answered<T>(load: Load, send: () => Promise<T>): Promise<T | undefined> {
  try {
    return await send();
  } catch (error) {
    if (load.killed) return undefined;
    throw error;
  }
}

/** The bulk load: new documents by the hundred, and deletes of earlier ones among them. */
async function writeInBulk(load: Load): Promise<void> {
  const { container, model, random, round } = load;
  const earlier: { id: string; pk: string }[] = [];
  for (let call = 0; !load.killed; call += 1) {
    const operations: OperationInput[] = [];
    const identities: string[] = [];
    const fresh: { id: string; pk: string }[] = [];
    for (let index = 0; index < BULK_SIZE; index += 1) {
      const old = random.below(8) === 0 ? earlier.shift() : undefined;
      if (old === undefined) {
        const body = { id: `bulk ${round}-${call}-${index}`, pk: `bulk ${random.below(500)}`, n: index };
        model.intend(identityOf(body.id, body.pk), { sent: JSON.stringify(body) });
        identities.push(identityOf(body.id, body.pk));
        operations.push({ operationType: 'Create', partitionKey: body.pk, resourceBody: body });
        fresh.push(body);
      } else {
        model.intend(identityOf(old.id, old.pk), 'gone');
        identities.push(identityOf(old.id, old.pk));
        operations.push({ operationType: 'Delete', partitionKey: old.pk, id: old.id });
      }
    }
    const results = await answered(load, () => container.items.bulk(operations));
    if (results === undefined) return;
    for (const [index, identity] of identities.entries()) {
      const result = results[index];
      if (result === undefined || result.statusCode >= 300)
        throw new Error(`bulk of ${identity}: ${JSON.stringify(result)}`);
      model.confirm(identity, {
        etag: result.eTag,
        rid: result.resourceBody?.['_rid'] as string | undefined,
      });
    }
    earlier.push(...fresh);
  }
}

/** Transactional batches: four new documents each, all of them or none. */
async function writeInBatches(load: Load, groups: string[][]): Promise<void> {
  const { wire, model, random, round } = load;
  for (let call = 0; !load.killed; call += 1) {
    const pk = `batch ${random.below(20)}`;
    const bodies = [0, 1, 2, 3].map((index) => ({ id: `batch ${round}-${call}-${index}`, pk }));
    const group = bodies.map((body) => identityOf(body.id, pk));
    for (const [index, identity] of group.entries())
      model.intend(identity, { sent: JSON.stringify(bodies[index]) });
    groups.push(group);
    const operations = bodies.map((resourceBody) => ({ operationType: 'Create', resourceBody }) as const);
    const reply = await answered(load, () => wire.batch(operations, [pk]));
    if (reply === undefined) return;
    if (reply.status !== 200) throw new Error(`batch of ${group.join()}: ${reply.status} ${reply.text}`);
    for (const [index, result] of parseJson<OperationResult[]>(reply).entries())
      model.confirm(group[index] ?? '', { etag: result.eTag, rid: result.resourceBody?._rid });
    model.sawLsn(reply);
  }
}

async function follow(load: Load, follower: FeedFollower): Promise<void> {
  while (!load.killed) await answered(load, () => follower.turn());
}

/** The strike comes even when a lane has failed, or the others would never end. */
async function strike(load: Load, waitMs: number): Promise<void> {
  await delay(waitMs);
  load.killed = true;
  await load.emulator.kill();
}

/** Splits, offers and settings that were acknowledged, and those that were perhaps made. */
class Levers {
  readonly ranges = new Set<string>();
  retention = { now: 604_800, maybe: 604_800 };
  throughput = { now: 4_000, maybe: 4_000 };

  async pull(load: Load): Promise<void> {
    const { emulator, container, wire, random } = load;
    while (!load.killed) {
      await delay(50 + random.below(300));
      // The first is a split: a run with few kills would otherwise end without one by chance.
      const next = this.ranges.size === 0 ? 'split' : pick(random, ['split', 'retention', 'throughput']);
      const lever = load.killed ? 'none' : next;
      await answered(load, async () => {
        if (lever === 'split') await this.#split(emulator, wire);
        if (lever === 'retention') {
          this.retention.maybe = 100_000 + random.below(1_000_000);
          await emulator.admin.account({ retentionSeconds: this.retention.maybe });
          this.retention.now = this.retention.maybe;
        }
        if (lever === 'throughput') {
          const { resource } = await container.readOffer();
          if (resource === undefined) throw new Error('the container has no offer');
          this.throughput.maybe = 3_000 + 100 * random.below(20);
          await container.database.client.offer(resource.id).replace({
            ...resource,
            content: { ...resource.content, offerThroughput: this.throughput.maybe } as never,
          });
          this.throughput.now = this.throughput.maybe;
        }
      });
    }
  }

  async #split(emulator: EmulatorProcess, wire: WireContainer): Promise<void> {
    const before = await wire.ranges();
    if (before.length >= RANGES_MAX) return;
    await emulator.admin.split(wire.adminPath);
    for (const range of await wire.ranges()) this.ranges.add(range.id);
  }
}

function clientOf(emulator: EmulatorProcess): CosmosClient {
  return new CosmosClient({
    endpoint: emulator.endpoint,
    key: emulator.key,
    connectionPolicy: { enableEndpointDiscovery: false },
  });
}

interface RangeView {
  readonly id: string;
  readonly min: string;
  readonly max: string;
  readonly parents: readonly string[];
  readonly lsn: number;
  readonly documents: number;
}

async function rangesOf(emulator: EmulatorProcess): Promise<readonly RangeView[]> {
  const { containers } = (await emulator.admin.state()) as { containers: { ranges: RangeView[] }[] };
  return containers[0]?.ranges ?? [];
}

function expectTiles(ranges: readonly RangeView[]): void {
  const edges = ranges.toSorted((left, right) => (left.min < right.min ? -1 : 1));
  expect(edges.map((range) => range.min)).toEqual(['', ...edges.slice(0, -1).map((range) => range.max)]);
  expect(edges.at(-1)?.max).toBe('FF');
}

async function texts(container: Container, path: string): Promise<string> {
  const { resource } = await container.read();
  return `${path} ${JSON.stringify(resource)}`;
}

describe('killed while it is written to', () => {
  it(
    `keeps what it acknowledged through ${ROUNDS} kills`,
    () =>
      seeded(async (random) => {
        const model = new Model();
        const levers = new Levers();
        const replay = new Replay();
        const groups: string[][] = [];
        let emulator = await EmulatorProcess.start(file, { avad: true, ru: 'off', pageBytes: 200_000 });
        let client = clientOf(emulator);
        let wire = new WireContainer(emulator.raw, 'd', 'c');
        try {
          const { database } = await client.databases.create({ id: 'd' });
          const made = await database.containers.create({ ...BODY, throughput: levers.throughput.now });
          const body = await texts(made.container, wire.path);
          let versions = new FeedFollower(wire, { mode: 'avad', maxItems: 40, onEntry: replay.onVersion });
          let latest = new FeedFollower(wire, { mode: 'lv', maxItems: 40, onEntry: replay.onLatest });
          await versions.start('now');
          await latest.start('beginning');
          for (let round = 0; round < ROUNDS; round += 1) {
            const container = client.database('d').container('c');
            const load: Load = { emulator, wire, container, model, random, round, killed: false };
            const work = [
              ...Array.from({ length: LANES }, (_none, lane) => writeSingly(load, lane)),
              writeInBulk(load),
              writeInBatches(load, groups),
              follow(load, versions),
              follow(load, latest),
              levers.pull(load),
            ];
            const outcomes = await Promise.allSettled([strike(load, 200 + random.below(1_500)), ...work]);
            for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
            client.dispose();

            emulator = await EmulatorProcess.start(file);
            client = clientOf(emulator);
            wire = new WireContainer(emulator.raw, 'd', 'c');
            const stored = await byQuery(wire, 700);
            expect(model.settle(stored)).toEqual([]);
            expect(groups.filter((group) => new Set(group.map((id) => stored.has(id))).size > 1)).toEqual([]);
            expect(differences(stored, await byList(wire, 333))).toEqual([]);
            expect(differences(stored, await byFeed(wire, 400))).toEqual([]);
            // Positions from before the kill go on: nothing is lost, nothing that was read comes again.
            versions = versions.movedTo(wire);
            latest = latest.movedTo(wire);
            await versions.drain();
            await latest.drain();
            expect(differences(stored, replay.replayed())).toEqual([]);
            expect(differences(stored, replay.rebuilt())).toEqual([]);
            await expectKept({ emulator, client, wire, model, levers, body });
          }
          expect(model.size).toBeGreaterThan(ROUNDS * BULK_SIZE);
          expect(replay.counts.delete).toBeGreaterThan(0);
          expect(levers.ranges.size).toBeGreaterThan(1);
        } finally {
          client.dispose();
          await emulator.kill();
        }
      }),
    60_000 + ROUNDS * 15_000,
  );
});

/** Container, offer, settings and range map are as they were acknowledged. */
async function expectKept(after: {
  emulator: EmulatorProcess;
  client: CosmosClient;
  wire: WireContainer;
  model: Model;
  levers: Levers;
  body: string;
}): Promise<void> {
  const { emulator, client, wire, model, levers, body } = after;
  const container = client.database('d').container('c');
  expect(await texts(container, wire.path)).toBe(body);
  const ranges = await rangesOf(emulator);
  expectTiles(ranges);
  for (const range of ranges) {
    const reported = Math.max(...[range.id, ...range.parents].map((id) => model.lsnOf(id)));
    expect(range.lsn, `the LSN of range ${range.id}`).toBeGreaterThanOrEqual(reported);
    expect(range.documents).toBe((await byList(wire, 1_000, range.id)).size);
  }
  const known = new Set(ranges.flatMap((range) => [range.id, ...range.parents]));
  expect([...levers.ranges].filter((id) => !known.has(id))).toEqual([]);
  const { resource } = await container.readOffer();
  expect([levers.throughput.now, levers.throughput.maybe]).toContain(resource?.content?.offerThroughput);
  const { accounts } = (await emulator.admin.state()) as {
    accounts: { settings: { retentionSeconds: number; avad: boolean; ru: string; pageBytes: number } }[];
  };
  const settings = accounts[0]?.settings;
  expect(settings).toMatchObject({ avad: true, ru: 'off', pageBytes: 200_000 });
  expect([levers.retention.now, levers.retention.maybe]).toContain(settings?.retentionSeconds);
  levers.retention.now = settings?.retentionSeconds ?? 0;
  levers.throughput.now = resource?.content?.offerThroughput ?? 0;
}

/** A small account on disk, closed by a kill; gives its only document. */
async function prepare(): Promise<string> {
  await using emulator = await EmulatorProcess.start(file, { ru: 'off' });
  using client = disposable(clientOf(emulator));
  const { database } = await client.value.databases.create({ id: 'd' });
  await database.containers.create(BODY);
  const wire = new WireContainer(emulator.raw, 'd', 'c');
  await wire.seed([{ id: 'a', pk: 'p', n: 1 }]);
  return (await wire.read('a', ['p'])).text;
}

function disposable(client: CosmosClient): Disposable & { readonly value: CosmosClient } {
  return { value: client, [Symbol.dispose]: () => client.dispose() };
}

async function readBack(): Promise<string> {
  await using emulator = await EmulatorProcess.start(file);
  return (await new WireContainer(emulator.raw, 'd', 'c').read('a', ['p'])).text;
}

/** The file as bytes alone: what its log holds is brought into it first. */
function settleFile(): void {
  execIn(file, 'PRAGMA wal_checkpoint(TRUNCATE)', 'PRAGMA journal_mode = DELETE');
}

describe('emulator: a data file', () => {
  it('in use by another emulator -> the second is refused and changes nothing', async () => {
    const text = await prepare();
    await using first = await EmulatorProcess.start(file);
    const second = await EmulatorProcess.tryStart(file);
    expect(second).toMatchObject({ ready: false, code: 'not-ready', exitCode: 3 });
    const wire = new WireContainer(first.raw, 'd', 'c');
    expect((await wire.read('a', ['p'])).text).toBe(text);
    expect((await wire.create('{"id":"b","pk":"p"}', ['p'])).status).toBe(201);
    await first.kill();
    expect(await readBack()).toBe(text);
  });

  it('two emulators start at once -> exactly one serves it', async () => {
    await prepare();
    const started = await Promise.all([EmulatorProcess.tryStart(file), EmulatorProcess.tryStart(file)]);
    const serving = started.filter((each) => each instanceof EmulatorProcess);
    for (const each of serving) await each.kill();
    expect(serving.length).toBe(1);
    expect(started.find((each) => !(each instanceof EmulatorProcess))).toMatchObject({
      code: 'not-ready',
    });
  });

  it('a newer schema -> refused, and left as it is', async () => {
    await prepare();
    execIn(
      file,
      "INSERT INTO cosmig_schema (number, database, file, sha256) VALUES (99, 'emulator', '0099_later.sql', '00')",
    );
    settleFile();
    const before = readFileSync(file);
    const refused = await EmulatorProcess.tryStart(file);
    expect(refused).toMatchObject({ ready: false, code: 'ledger', exitCode: 7 });
    settleFile();
    expect(differencesOf(before, readFileSync(file))).toBe(0);
  });

  it.each([
    ['at its head', 0, 100],
    ['in the table of its tables', 100, 300],
    ['everywhere but at its head', 8_192, 1_000_000],
  ])('damaged %s -> refused', async (_where, from, count) => {
    await prepare();
    settleFile();
    const size = readFileSync(file).length;
    const bytes = Buffer.alloc(Math.max(0, Math.min(count, size - from)), 0xa5);
    const descriptor = openSync(file, 'r+');
    writeSync(descriptor, bytes, 0, bytes.length, from);
    closeSync(descriptor);
    const refused = await EmulatorProcess.tryStart(file);
    if (refused instanceof EmulatorProcess) await refused.kill();
    expect(refused).toMatchObject({ ready: false, code: 'ledger', exitCode: 7 });
  });
});

/** How many bytes differ, the two that SQLite counts its own openings with apart. */
function differencesOf(left: Buffer, right: Buffer): number {
  let count = Math.abs(left.length - right.length);
  for (let at = 100; at < Math.min(left.length, right.length); at += 1)
    if (left[at] !== right[at]) count += 1;
  return count;
}
