/** The sums of both sides after the first turn: equal for every pair, whichever side the mover writes. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ByteOutput } from '../../../../src/documents/byte-output.ts';
import { latestVersionScan } from '../../../../src/documents/page-scan.ts';
import { turnedPlans } from '../../../../src/keys/back-plan.ts';
import { makePlan, type PlanOptions } from '../../../../src/keys/plan.ts';
import { Rekey, rekeyPaths, type RekeyOptions, type TtlMode } from '../../../../src/keys/rekey.ts';
import { readName } from '../../../../src/verify/document-name.ts';
import { entriesOf } from '../../../../src/verify/pass/entry-chunks.ts';
import { SideSums } from '../../../../src/verify/pass/side-sums.ts';
import { draws } from '../../../helpers/generated.ts';
import '../../../helpers/seed.ts';

const PLANS: ReadonlyArray<Partial<PlanOptions>> = [
  { partitionKey: ['/b'] },
  { partitionKey: ['/b', '/id'], missingKey: 'dead-letter' },
  { derive: ['/pk={b}'] },
  { derive: ['/k/pk={b}', '/q={id|hash:8}'], partitionKey: ['/k/pk', '/q'], missingKey: 'dead-letter' },
  { derive: ['/a={a|default:none}-{b}'], keepSourceKeyAs: '/old' },
];
const TTLS: readonly TtlMode[] = [{ mode: 'restart' }, { mode: 'remaining', defaultTtl: 100 }];

const value = fc.constantFrom('"x"', '"\\u0078"', '1.0', '7', 'null', '[1]', '{}');
const member = (name: string): fc.Arbitrary<string | undefined> =>
  fc.option(value, { nil: undefined }).map((text) => (text === undefined ? undefined : `"${name}":${text}`));
const body = fc
  .tuple(
    ...['a', 'b', 'pk', 'q', 'z'].map(member),
    fc.constantFrom(undefined, '"k":{}', '"k":{"z":1}', '"k":{"pk":"x"}'),
    fc.constantFrom(undefined, '"ttl":50', '"ttl":-1'),
  )
  .map((members) => members.filter((one) => one !== undefined).join(','));

/** Documents as a feed shows them: with ids of their own, and with the service's properties. */
const shown = (jsons: readonly string[]): Buffer =>
  Buffer.from(
    `{"Documents":[${jsons.map((json) => `${json.slice(0, -1)},"_ts":1000,"_lsn":1}`).join(',')}]}`,
  );

interface Pair {
  readonly old: string;
  readonly now: string;
}

describe.each(PLANS)('%o', (options) => {
  const whole = {
    sourcePaths: ['/a'],
    partitionKey: [],
    derive: [],
    missingKey: 'keep',
    ...options,
  } as const;
  const forth = makePlan({ ...whole, presentWins: true });

  /** The documents that move forth, with their copies. */
  const pairsOf = (bodies: readonly string[], ttl: TtlMode): readonly Pair[] => {
    const scan = latestVersionScan(rekeyPaths(forth));
    const kind = forth.targetPaths.length > 1 ? 'multi-hash' : 'hash-v2';
    const rekey = new Rekey(scan, { plan: forth, kind, ttl });
    return bodies.flatMap((one, i) => {
      const old = `{"id":"i${i}"${one === '' ? '' : ','}${one}}`;
      scan.scan(shown([old]));
      if (rekey.read(0, 1000) !== 'moves') return [];
      const out = new ByteOutput();
      rekey.write(out);
      return [{ old, now: out.view().toString() }];
    });
  };

  const sums = (rekey: RekeyOptions, source: Buffer, target: Buffer): readonly [SideSums, SideSums] => {
    const rows = {
      rekey,
      marker: null,
      targetTtl: rekey.ttl.mode === 'restart' ? null : rekey.ttl.defaultTtl,
    };
    const sides = [new SideSums('source', rows), new SideSums('target', rows)] as const;
    sides[0].take(source, 1);
    sides[1].take(target, 1);
    return sides;
  };

  const areEqual = (one: SideSums, other: SideSums): boolean =>
    one.buckets.view().equals(other.buckets.view());

  const namesIn = ({ entries: { words } }: SideSums, levels: number): readonly unknown[] => {
    const chunk = { words, bytes: Buffer.from(words.buffer, words.byteOffset, words.byteLength) };
    const names = [...entriesOf(chunk, () => true)].map(({ name }) => {
      const { id, sourceKey, targetKey } = readName(name, levels);
      // Parsed, since a copy may spell its key in another way. Null stands for a missing level and for null.
      return [id, ...[...sourceKey, ...targetKey].map((text): unknown => JSON.parse(text ?? 'null'))];
    });
    return names.map((name) => JSON.stringify(name)).toSorted();
  };

  test.each(['back', 'forth'] as const)('%s -> equal sums and names; a change is noticed', (direction) => {
    let equal = 0;
    const check = (bodies: readonly string[], ttl: TtlMode): void => {
      const pairs = pairsOf(bodies, ttl);
      const turned = turnedPlans(forth, { direction, ignoresTtl: ttl.mode === 'remaining' });
      const kind = turned.plan.targetPaths.length > 1 ? 'multi-hash' : 'hash-v2';
      const rekey: RekeyOptions = { ...turned, kind, ttl };
      const [olds, nows] = [pairs.map(({ old }) => old), pairs.map(({ now }) => now)];
      const [from, to] = direction === 'back' ? [nows, olds] : [olds, nows];
      const [source, target] = sums(rekey, shown(from), shown(to));
      expect(areEqual(source, target)).toBe(true);
      expect(source.refused).toEqual({});
      const levels = turned.plan.sourcePaths.length;
      expect(namesIn(target, levels)).toEqual(namesIn(source, levels));
      equal += pairs.length;
      const [first, ...rest] = to;
      if (first === undefined) return;
      const changed = sums(rekey, shown(from), shown([`${first.slice(0, -1)},"new":1}`, ...rest]));
      expect(areEqual(...changed)).toBe(false);
    };
    const some = fc.array(body, { maxLength: 8 });
    fc.assert(fc.property(some, fc.constantFrom(...TTLS), check), { numRuns: draws(60) });
    // How many is a matter of luck where few pages are drawn.
    expect(equal).toBeGreaterThan(0);
  });
});

test('a document of the source that has no new key -> is in no sum on the way back', () => {
  const forth = makePlan({
    sourcePaths: ['/a'],
    partitionKey: [],
    derive: ['/pk={b}'],
    missingKey: 'dead-letter',
    presentWins: true,
  });
  const turned = turnedPlans(forth, { direction: 'back', ignoresTtl: false });
  const rekey: RekeyOptions = { ...turned, kind: 'hash-v2', ttl: { mode: 'restart' } };
  const target = new SideSums('target', { rekey, marker: null, targetTtl: null });
  expect(target.take(shown(['{"id":"i","a":1}', '{"id":"j","a":1,"b":"x"}']), 1).documents).toBe(2);
  expect(target.buckets.total().documents).toBe(1);
});
