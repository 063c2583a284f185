/**
 * The kernel maps the plain documents of a filled target: a second implementation of what is made of a document value
 * by value. Both read the same pages here, and have to agree on every byte.
 */
import * as fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { PageScan } from '../../../../src/documents/page-scan.ts';
import { MapRows } from '../../../../src/engine/map/map-rows.ts';
import { turnedPlans } from '../../../../src/keys/back-plan.ts';
import { makePlan, type PlanOptions } from '../../../../src/keys/plan.ts';
import type { TtlMode } from '../../../../src/keys/rekey.ts';
import { RESERVATION_ID } from '../../../../src/preflight/reservation.ts';
import { readEntry, type FinishedSegment } from '../../../../src/state/segments/segment.ts';
import { draws } from '../../../helpers/generated.ts';
import '../../../helpers/seed.ts';
import { document, pageOf } from '../feed-pages.ts';

const FENCE_LSN = 1000;

interface Setting {
  readonly is: string;
  readonly plan: Partial<PlanOptions>;
  readonly isBack?: boolean;
  readonly ttl?: TtlMode;
  readonly requiresSourceKey?: boolean;
  readonly hasCopyEtags?: boolean;
  /** Whether no document is plain. */
  readonly isComputed?: boolean;
}

const SETTINGS: readonly Setting[] = [
  { is: 'a property', plan: { partitionKey: ['/b'], missingKey: 'keep' } },
  {
    is: 'a property, and a whole source key',
    plan: { partitionKey: ['/b'], missingKey: 'keep' },
    requiresSourceKey: true,
  },
  {
    is: 'two levels on both sides',
    plan: { sourcePaths: ['/a', '/b'], partitionKey: ['/b', '/id'], missingKey: 'keep' },
  },
  {
    is: 'copies that expire',
    plan: { partitionKey: ['/b'], missingKey: 'keep' },
    ttl: { mode: 'remaining', defaultTtl: -1 },
  },
  { is: 'a move back', plan: { partitionKey: ['/b'] }, isBack: true, hasCopyEtags: true },
  { is: 'a replaced key', plan: { partitionKey: ['/a'], derive: ['/a={b}'], keepSourceKeyAs: '/old' } },
  { is: 'a derived key', plan: { derive: ['/pk={a}'] }, isComputed: true },
  {
    is: 'a move back from a derived key',
    plan: { derive: ['/pk={a}'] },
    isBack: true,
    hasCopyEtags: true,
    isComputed: true,
  },
];

function rowsOf(
  { plan: options, isBack, ttl, requiresSourceKey, hasCopyEtags }: Setting,
  packsPages: boolean,
): MapRows {
  const { missingKey = 'dead-letter' } = options;
  const forth = makePlan({ sourcePaths: ['/a'], partitionKey: [], derive: [], ...options, missingKey });
  const plan = isBack === true ? turnedPlans(forth, { direction: 'back', ignoresTtl: false }).plan : forth;
  const kind = plan.targetPaths.length > 1 ? 'multi-hash' : 'hash-v2';
  const versions = { plan, kind, ttl: ttl ?? { mode: 'restart' }, marker: null } as const;
  return new MapRows(
    { plan, versions, spec: { missingKey }, packsPages },
    { requiresSourceKey: requiresSourceKey === true, hasCopyEtags: hasCopyEtags === true },
  );
}

const textOf = (bytes: Buffer | null): string | undefined => bytes?.toString('hex');

/** What a page has added to the map, in an order that does not depend on the path. */
function contentsOf(segments: readonly FinishedSegment[]): readonly string[] {
  const entries = segments.flatMap((segment) =>
    Array.from({ length: segment.count }, (_, at) => {
      const { identity, slot, targetKey, etag, lsn } = readEntry(segment, at);
      return JSON.stringify([textOf(identity), textOf(slot), targetKey.map(String), textOf(etag), lsn]);
    }),
  );
  return entries.toSorted();
}

const reservation = `{"id":"${RESERVATION_ID}","_etag":"\\"1\\"","_ts":1,"_lsn":3}`;

describe.each(SETTINGS)('map rows: $is', (setting) => {
  test('any page -> the same as value by value', () => {
    const [mapping, reading] = [rowsOf(setting, true), rowsOf(setting, false)];
    const attempt = (rows: MapRows, page: Buffer): unknown => {
      try {
        const { segments, ...counts } = rows.read(Buffer.from(page), FENCE_LSN);
        return { ...counts, entries: contentsOf(segments) };
      } catch (error) {
        return String(error);
      }
    };
    const any = fc.oneof({ weight: 20, arbitrary: document }, fc.constant(reservation));
    const check = (documents: readonly string[]): void => {
      const page = pageOf(documents);
      expect(attempt(mapping, page)).toEqual(attempt(reading, page));
    };
    fc.assert(fc.property(fc.array(any, { maxLength: 8 }), check), { numRuns: draws(80) });
  });

  test('plain documents of several segments -> the same bytes', () => {
    const documents = Array.from(
      { length: 600 },
      (_, n) =>
        `{"id":"order-${n}","a":"device-${n % 5}","b":${[`"tenant-${n >> 2}"`, n, 'null', '-7'][n & 3]},"old":true,"text":"${'z'.repeat(n)}","_rid":"r${n}","_etag":"\\"${n}\\"","_ts":1,"_lsn":${n}}`,
    );
    const [one, other] = [true, false].map((packs) =>
      rowsOf(setting, packs).read(pageOf(documents), FENCE_LSN),
    );
    expect(one).toEqual(other);
    expect(one?.segments.length).toBeGreaterThan(2);
  });
});

test('map rows: a plain document -> mapped by the kernel, unless a key is computed', () => {
  const page = pageOf(['{"id":"1","a":"x","b":"y","old":"z","_etag":"\\"1\\"","_ts":1,"_lsn":1}']);
  const mapped = SETTINGS.map((setting) => {
    using asked = vi.spyOn(PageScan.prototype, 'mapRows');
    rowsOf(setting, true).read(page, FENCE_LSN);
    const [result] = asked.mock.results;
    return [setting.is, result?.type === 'return' && result.value.mapped === 1];
  });
  expect(mapped).toEqual(SETTINGS.map(({ is, isComputed = false }) => [is, !isComputed]));
});
