/** Bytes are sacred: every odd document goes through copy and tail, and comes out as it was written. */
import { PartitionKeyDefinitionVersion, PartitionKeyKind } from '@azure/cosmos';
import { expect, test } from 'vitest';
import type { CrashPoint } from '../../../src/engine/unit/crash-points.ts';
import { readAll } from '../../faults/harness/migration/reading.ts';
import { membersOf } from '../../faults/harness/migration/json.ts';
import { Move, type MoveOptions } from '../../helpers/migration/move.ts';
import { parseJson, RawAccount } from '../../helpers/emulator/raw.ts';
import {
  NONE,
  WireContainer,
  type Key,
  type OperationResult,
} from '../../helpers/emulator/wire-container.ts';

interface Written {
  readonly text: string;
  readonly key: Key;
}

/** Everything but the id and the source key of a document. */
const BODIES: Readonly<Record<string, string>> = {
  'long integers': '"a":9223372036854775807,"b":-9223372036854775808,"c":123456789012345678901234567890',
  'numbers as they are spelled': '"a":1.10,"b":-0,"c":-0.0e-0,"d":3.0,"e":1E+2,"f":5e-324,"g":0.1e1',
  'a number beyond all doubles': '"a":1e400',
  'escapes as they are spelled': '"a":"\\u0041\\/\\b\\f\\n\\r\\t\\\\\\"","\\u0062":"é\\u00e9"',
  'lone surrogates': '"a":"\\ud800","b":"x\\udfff\\ud83dx","\\udc00":1',
  'characters beyond the BMP': '"a":"😀\\ud83d\\ude00","😀":"日本語"',
  'names out of order': '"z":1,"a":{"z":1,"a":2},"10":1,"9":2',
  'a name twice': '"a":1,"a":2,"n":{"b":1,"b":2}',
  'names of prototypes': '"__proto__":{"_ts":1},"constructor":null,"toString":{},"hasOwnProperty":[]',
  'nested names of the service':
    '"n":{"_rid":"x","_ts":1,"_etag":"\\"e\\"","_self":"s","_lsn":9,"id":"y"},"a":[{"_ts":1}]',
  'names like those of the service': '"_own":1,"_Ts":2,"_rid_":3,"":4," _ts":5,"_tsx":6',
  'deep nesting': `"deep":${'['.repeat(100)}${']'.repeat(100)}`,
  'deep objects': `"deep":${'{"d":'.repeat(100)}0${'}'.repeat(100)}`,
  'space anywhere': ' "a" :\n[ 1 ,\t2 ] , "b" : { } ',
  'brackets and commas in texts': '"a":"],}{[\\"","b":"\\\\","c":",\\"_rid\\":\\"x\\""',
  'empty values': '"a":{},"b":[],"c":"","d":null,"e":false',
  '1.9 MB': `"pad":"${'é'.repeat(950_000)}"`,
  'many members': Array.from({ length: 2000 }, (_, n) => `"m${n}":${n}`).join(','),
};

const IDS = [
  '?',
  '#',
  '%',
  '%2F',
  '&=+',
  "'",
  '"',
  ' ',
  ' x ',
  '.',
  '..',
  'é',
  '日本',
  '😀',
  '\u0000',
  '\u2028',
  '\t',
  '<script>',
  'x'.repeat(1023),
];

/** Source keys as they stand in a document, and as a request names them; none: the document has no such property. */
const KEYS: ReadonlyArray<readonly [text: string | null, key: Key]> = [
  [null, NONE],
  ['null', [null]],
  ['true', [true]],
  ['false', [false]],
  ['0', [0]],
  ['-1.50', [-1.5]],
  ['1e3', [1000]],
  ['9007199254740993', [9007199254740992]],
  ['""', ['']],
  ['"\\u0061/b"', ['a/b']],
  ['"😀"', ['😀']],
  [`"${'k'.repeat(1500)}"`, ['k'.repeat(1500)]],
];

const quote = (text: string): string => JSON.stringify(text);

const DOCUMENTS: readonly Written[] = [
  ...Object.entries(BODIES).map(([name, body], n) => ({
    text: `{${body},"id":${quote(name)},"customerId":"c${n % 3}","tenantId":"t${n % 5}"}`,
    key: [`c${n % 3}`],
  })),
  ...IDS.map((id, n) => ({
    text: `{"id":${quote(id)},"customerId":"c${n % 3}","tenantId":"i${n % 5}"}`,
    key: [`c${n % 3}`],
  })),
  ...KEYS.map(([text, key], n) => ({
    text: `{"tenantId":"k","id":"key ${n}"${text === null ? '' : `,"customerId":${text}`}}`,
    key,
  })),
  // The target's key is odd as well.
  ...KEYS.map(([text], n) => ({
    text: `{"customerId":"c","id":"new key ${n}"${text === null ? '' : `,"tenantId":${text}`}}`,
    key: ['c'],
  })),
  { text: '{ "tenantId" : "spaced" , "customerId" : "c" , "id" : "spaced" }', key: ['c'] },
];

class Lossless implements AsyncDisposable {
  readonly move: Move;
  readonly #raw: RawAccount;
  readonly #source: WireContainer;
  readonly #target: WireContainer;

  private constructor(move: Move) {
    this.move = move;
    this.#raw = new RawAccount(move.emulator);
    this.#source = new WireContainer(this.#raw, 'shop', 'orders');
    this.#target = new WireContainer(this.#raw, 'shop', 'by-tenant');
  }

  static async open(options: MoveOptions, targetPaths: readonly string[]): Promise<Lossless> {
    const keyed = (paths: readonly string[]): MoveOptions['source'] => ({
      // A document of 2 MB costs thousands.
      throughput: 10_000,
      partitionKey: {
        paths: [...paths],
        version: PartitionKeyDefinitionVersion.V2,
        kind: paths.length > 1 ? PartitionKeyKind.MultiHash : PartitionKeyKind.Hash,
      },
    });
    return new Lossless(
      await Move.open({
        ...options,
        source: { ...options.source, ...keyed(['/customerId']) },
        target: { ...options.target, ...keyed(targetPaths) },
      }),
    );
  }

  async write(documents: readonly Written[]): Promise<void> {
    for (const { text, key } of documents) {
      const { status } = await this.#source.upsert(text, key);
      if (status >= 300) throw new Error(`${status} to ${text.slice(0, 200)}`);
    }
  }

  /** By batches, since no URL can name some of the ids. */
  async delete(documents: readonly Written[]): Promise<void> {
    for (const { text, key } of documents) {
      const { id } = JSON.parse(text) as { id: string };
      const reply = await this.#source.batch([{ operationType: 'Delete', id }], key);
      const [result] = parseJson<OperationResult[]>(reply);
      if (result?.statusCode !== 204) throw new Error(`${reply.text} to the delete of ${id}`);
    }
  }

  /** The documents of both sides by the name of who they are, as they were written. */
  async both(): Promise<{ readonly source: Texts; readonly target: Texts }> {
    return { source: textsOf(await readAll(this.#source)), target: textsOf(await readAll(this.#target)) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#raw.close();
    await this.move[Symbol.asyncDispose]();
  }
}

type Texts = ReadonlyMap<string, string>;

/** What an application has written stands first, what the service adds follows. */
function textsOf(documents: readonly string[]): Texts {
  const texts = documents.map((text) => text.slice(0, text.lastIndexOf(',"_rid":')));
  return new Map(texts.map((text) => [nameOf(`${text}}`), text]));
}

/** Ids differ here whatever the key is. */
function nameOf(text: string): string {
  const id = membersOf(text).find(({ name }) => name === 'id');
  return String(JSON.parse(id?.text ?? 'null'));
}

/** What a document is expected to be in the target, by what it is in the source. */
type Expected = (source: string, id: string) => string;

async function prove(lossless: Lossless, expected: Expected): Promise<void> {
  const { source, target } = await lossless.both();
  expect(source.size).toBe(DOCUMENTS.length);
  const differ = [...source].filter(([id, text]) => target.get(id) !== expected(text, id));
  expect(
    differ.map(([id, text]) => ({
      is: target.get(id)?.slice(0, 300),
      expected: expected(text, id).slice(0, 300),
    })),
  ).toEqual([]);
  expect(target.size).toBe(source.size);
}

/** The same with something more in front, and nothing else touched. */
const updated = ({ text, key }: Written): Written => ({
  text: text.replace('{', '{"updated":1.0,'),
  key,
});

interface Case {
  readonly name: string;
  readonly targetPaths: readonly string[];
  readonly options: MoveOptions;
  readonly expected: Expected;
}

const AVAD = { avad: true };
const TIMING = { requestTimeoutMs: 20_000 };
const keys = (...paths: readonly string[]): Readonly<Record<string, readonly string[]>> => ({
  partitionKey: paths,
});

const CASES: readonly Case[] = [
  {
    name: 'a key that is there, and the feed of all versions',
    targetPaths: ['/tenantId'],
    options: { settings: AVAD },
    expected: (text) => text,
  },
  {
    name: 'a hierarchical key, and the feed of latest versions',
    targetPaths: ['/tenantId', '/customerId', '/id'],
    options: { flags: keys('/tenantId', '/customerId', '/id') },
    expected: (text) => text,
  },
  {
    name: 'a key that is made of the id and written into each document',
    targetPaths: ['/pk'],
    options: { settings: AVAD, flags: { derive: ['/pk={id}'] } },
    expected: (text, id) => `${text},"pk":${quote(id)}`,
  },
  {
    name: 'a key that is written over the old one, which is kept elsewhere',
    targetPaths: ['/customerId'],
    options: { settings: AVAD, flags: { derive: ['/customerId={id}'], keepSourceKeyAs: ['/was'] } },
    expected: (text, id) => {
      const old = membersOf(`${text}}`).find(({ name }) => name === 'customerId')?.text;
      if (old === undefined) return `${text},"customerId":${quote(id)}`;
      const now = text.replace(
        /("customerId" ?: ?)(?:"(?:[^"\\]|\\.)*"|[^,} ]+)/,
        (_all, name) => `${name}${quote(id)}`,
      );
      return `${now},"was":${old}`;
    },
  },
];

test.each(CASES)(
  'lossless: $name -> the same bytes, copied and after an update',
  async ({ targetPaths, options, expected }) => {
    await using lossless = await Lossless.open(options, targetPaths);
    const { move } = lossless;
    await lossless.write(DOCUMENTS);
    const copied = await move.run('copy', { timing: TIMING });
    expect(copied.documents).toMatchObject({ written: DOCUMENTS.length, deadLettered: 0 });
    await prove(lossless, expected);
    await lossless.write(DOCUMENTS.map(updated));
    const tailed = await move.run('catch-up', { timing: TIMING });
    expect(tailed.documents).toMatchObject({ deadLettered: 0 });
    await prove(lossless, expected);
  },
);

test('lossless: odd documents are deleted -> removed, except those without a key, which a comparison finds', async () => {
  await using lossless = await Lossless.open({ settings: AVAD }, ['/tenantId']);
  const { move } = lossless;
  await lossless.write(DOCUMENTS);
  await move.run('copy', { timing: TIMING });
  await lossless.delete(DOCUMENTS);
  const { documents, sweepPending } = await move.run('catch-up', { timing: TIMING });
  const keyless = DOCUMENTS.filter(({ key }) => key === NONE);
  expect({ deleted: documents.deleted, sweepPending }).toEqual({
    deleted: DOCUMENTS.length - keyless.length,
    sweepPending: true,
  });
  const { target } = await lossless.both();
  expect([...target.keys()]).toEqual(keyless.map(({ text }) => nameOf(text)));
});

test('lossless: --ttl remaining -> only the ttl changes, and the copy expires with the original', async () => {
  const ttl = { defaultTtl: 1000 };
  const flags = { ttl: ['remaining'] };
  await using lossless = await Lossless.open({ source: ttl, target: ttl, flags }, ['/tenantId']);
  const { move } = lossless;
  const own = ['', '"ttl":500,', '"ttl":-1,', '"n":{"ttl":7},', '"ttl" : 2147483647 ,'];
  const of = (text: string, n: number, more: string): Written => ({
    text: `{"a":1.10,${more}${text}"id":"${n}","customerId":"c","tenantId":"t","z":-0}`,
    key: ['c'],
  });
  await lossless.write(own.map((text, n) => of(text, n, '')));
  await move.admin.clock(100_000);
  await move.run('copy', { timing: TIMING });
  const left = async (): Promise<readonly (readonly [text: string, ttl: number])[]> => {
    const { target } = await lossless.both();
    return own.map((_text, n) => {
      const text = target.get(String(n)) ?? '';
      const seconds = /(?<!\{)"ttl" ?: ?(-?\d+)/.exec(text)?.[1] ?? 'none';
      return [text.replace(/(?<!\{)"ttl" ?: ?-?\d+/, '"ttl":?'), Number(seconds)] as const;
    });
  };
  expect((await left()).map(([text]) => text)).toEqual([
    '{"a":1.10,"id":"0","customerId":"c","tenantId":"t","z":-0,"ttl":?',
    '{"a":1.10,"ttl":?,"id":"1","customerId":"c","tenantId":"t","z":-0',
    '{"a":1.10,"ttl":?,"id":"2","customerId":"c","tenantId":"t","z":-0',
    '{"a":1.10,"n":{"ttl":7},"id":"3","customerId":"c","tenantId":"t","z":-0,"ttl":?',
    '{"a":1.10,"ttl":? ,"id":"4","customerId":"c","tenantId":"t","z":-0',
  ]);
  // 100 s have passed, and a few that the test took.
  const taken = [900, 400, -1, 900, 2147483547];
  for (const [n, [, seconds]] of (await left()).entries()) {
    const most = taken[n] ?? 0;
    expect(seconds).toBeLessThanOrEqual(most);
    expect(seconds).toBeGreaterThan(most === -1 ? -2 : most - 20);
  }
});

test.each(['intended', 'outcomes-known'] as const)(
  'crash at "%s" -> every odd document is in the target after the next run',
  async (at) => {
    await using lossless = await Lossless.open({ settings: AVAD }, ['/tenantId']);
    const { move } = lossless;
    const runTwice = async (goal: 'copy' | 'catch-up'): Promise<void> => {
      const crash = new AbortController();
      const onPoint = (point: CrashPoint): void => {
        if (point === at) crash.abort(new Error('crash'));
      };
      await expect(move.run(goal, { abort: crash.signal, onPoint, timing: TIMING })).rejects.toThrow('crash');
      expect((await move.run(goal)).documents).toMatchObject({ deadLettered: 0 });
    };
    await lossless.write(DOCUMENTS);
    await runTwice('copy');
    await prove(lossless, (text) => text);
    // Each goes to another place, so that its old one is to be found and left.
    const moved = ({ text, key }: Written): Written => ({
      text: text.replace('"tenantId":', '"tenantWas":').replace('{', '{"tenantId":"moved",'),
      key,
    });
    await lossless.write(DOCUMENTS.map(moved));
    await runTwice('catch-up');
    await prove(lossless, (text) => text);
  },
);

test('lossless: odd source keys -> read when two documents claim a slot, and when one leaves it', async () => {
  await using lossless = await Lossless.open({}, ['/tenantId']);
  const { move } = lossless;
  const odd = KEYS.map(([text, key], n) => ({
    text: `{"tenantId":"t","id":"both ${n}"${text === null ? '' : `,"customerId":${text}`}}`,
    key,
  }));
  const plain = KEYS.map((_key, n) => ({
    text: `{"tenantId":"t","id":"both ${n}","customerId":"plain"}`,
    key: ['plain'],
  }));
  await lossless.write([...odd, ...plain]);
  const reasons = (): string[] =>
    move.ledger(({ letters }) =>
      letters.list({ state: 'open', after: 0, limit: 100 }).map(({ reason }) => reason),
    );
  await move.run('copy', { timing: TIMING });
  expect(reasons()).toEqual(KEYS.map(() => 'collision'));
  const leaves = ({ text, key }: Written): Written => ({ text: text.replace('"t"', '"u"'), key });
  const { target } = await lossless.both();
  await lossless.write(
    [...odd, ...plain].filter(({ text }) => target.get(nameOf(text)) === text.slice(0, -1)).map(leaves),
  );
  expect((await move.run('catch-up', { timing: TIMING })).documents).toMatchObject({ deadLettered: 0 });
  expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
});
