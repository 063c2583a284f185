/**
 * The reasons for and against a key, each with its figure, its limit and where the limit comes from. Pure. There is no
 * score: a person weighs reasons, and a blocker is not made up for by gains.
 */
import { formatCount, formatShare, pluralize } from '../../lib/counting.ts';
import { hottestRuOf } from '../figures.ts';
import type {
  CandidateResult,
  FindingCode,
  KeyReason,
  KeyVerdict,
  SourceFigures,
  UniqueKeyConflicts,
} from '../result.ts';
import {
  FAN_OUT_SHARE_MAX,
  MISSING_SHARE_MAX,
  MOVES_SHARE_MAX,
  PARTITION_RU_MAX,
  RECENT_SHARE_MAX,
  RECENT_WRITES_MIN,
  TOP_SHARE_MAX,
  VALUE_BYTES_ALERT,
  VALUE_BYTES_MAX,
  VALUES_MIN,
  type Limit,
} from './limits.ts';

/** A candidate before it is judged. */
export type Unjudged = Omit<CandidateResult, 'verdict'>;

const GB = 1024 ** 3;

/** Judges a candidate. `current` is the present key, with which it is compared; the same for the present key itself. */
export function judge(candidate: Unjudged, current: Unjudged, source: SourceFigures): KeyVerdict {
  const risks = [...risksOf(candidate, source)];
  const presentRisks = new Set([...risksOf(current, source), ...blockersOf(current)].map(({ code }) => code));
  return {
    blockers: [...blockersOf(candidate)],
    risks,
    gains: candidate.current ? [] : [...gainsOf(candidate, { current, presentRisks, risks })],
  };
}

function* blockersOf({ data, current, paths, derive }: Unjudged): Generator<KeyReason> {
  const [biggest] = data.largest;
  if (biggest !== undefined && biggest.bytes.low > VALUE_BYTES_MAX.value)
    yield finding(
      'value-over-20-gb',
      `the value ${biggest.value} has ${gb(biggest.bytes.low)} GB`,
      biggest.bytes.low,
      VALUE_BYTES_MAX,
    );
  // What stands in the container has its slot already.
  if (current) return;
  const { collisions, refused, missing, uniqueKeyConflicts, documents } = data;
  if (documents > 0 && missing === documents)
    yield finding(
      'unknown-path',
      `no document has a value at ${derive.length + paths.length > 1 ? 'every path that this key is made of' : 'this path'}`,
      missing,
      null,
      'the path may be misspelt',
    );
  if (collisions.low > 0)
    yield finding(
      'collisions',
      `${collisions.known ? about(collisions) : `at least ${number(collisions.low)}`} documents share the new key and the id with another one`,
      collisions.documents,
      // Fact SVC-1.
      { value: 0, source: 'an id is unique within a key value' },
    );
  // A document whose id is not valid cannot be stored with any key.
  const reasons = Object.entries(refused).filter(([reason, count]) => reason !== 'bad-id' && count > 0);
  const refusedCount = reasons.reduce((sum, [, count]) => sum + count, 0);
  if (refusedCount > 0)
    yield finding(
      'refused-documents',
      `${pluralize(refusedCount, 'document')} could not be stored with this key: ${reasons
        .map(([reason, count]) => `${number(count)} ${REFUSED[reason] ?? reason}`)
        .join(', ')}`,
      refusedCount,
      {
        value: 0,
        // Facts SVC-2, SVC-4, SVC-8.
        source: 'limits of keys and documents',
      },
    );
  if (uniqueKeyConflicts !== null && uniqueKeyConflicts.low > 0)
    yield finding(
      'unique-keys',
      `${uniqueKeyConflicts.known ? about(uniqueKeyConflicts) : `at least ${number(uniqueKeyConflicts.low)}`} documents would be refused by the unique key ${brokenKeys(uniqueKeyConflicts)}`,
      uniqueKeyConflicts.documents,
      // Fact SVC-7.
      { value: 0, source: 'unique keys hold within one key value' },
    );
}

/** The unique keys that documents would break. */
function brokenKeys({ keys }: UniqueKeyConflicts): string {
  return keys
    .filter(({ low }) => low > 0)
    .map(({ paths }) => paths.join(' + '))
    .join(' or ');
}

function* risksOf(
  { data, writes, growth, workload, observed, current, timeValues }: Unjudged,
  source: SourceFigures,
): Generator<KeyReason> {
  const [biggest] = data.largest;
  const bytes = biggest?.bytes.low ?? 0;
  if (biggest !== undefined && bytes > VALUE_BYTES_ALERT.value && bytes <= VALUE_BYTES_MAX.value)
    yield finding(
      'value-near-20-gb',
      `the value ${biggest.value} has ${gb(bytes)} GB of at most 20`,
      bytes,
      VALUE_BYTES_ALERT,
    );
  const { first } = growth;
  if (first !== null && first.reaches20Gb !== null && bytes <= VALUE_BYTES_MAX.value)
    yield finding(
      'reaches-20-gb',
      `the value ${first.value} reaches 20 GB on ${first.reaches20Gb}`,
      first.bytes,
      VALUE_BYTES_MAX,
    );
  const { documents } = data;
  if (data.distinct.high < VALUES_MIN.value && documents > VALUES_MIN.value)
    yield finding(
      'few-values',
      `the key has only ${pluralize(data.distinct.estimate, 'value')}`,
      data.distinct.estimate,
      VALUES_MIN,
    );
  if (data.top1Share > TOP_SHARE_MAX.value && documents > VALUES_MIN.value)
    yield finding(
      'uneven',
      `${formatShare(data.top1Share)} of all documents have the value ${biggest?.value ?? ''}`,
      data.top1Share,
      TOP_SHARE_MAX,
    );
  const perPartition = source.throughput === null ? null : source.throughput.ru / source.partitions;
  const hottestRu = hottestRuOf({ writes, observed });
  if (perPartition !== null && hottestRu > Math.min(perPartition, PARTITION_RU_MAX.value))
    yield finding(
      'hot-value',
      `the hottest value needs ${number(hottestRu)} RU/s, and a partition has ${number(perPartition)}`,
      hottestRu,
      { value: Math.min(perPartition, PARTITION_RU_MAX.value), source: PARTITION_RU_MAX.source },
    );
  const recent = recentOf(writes);
  const isHot = recent !== undefined && recent.share > RECENT_SHARE_MAX.value;
  if (isHot)
    yield finding(
      'recency',
      `${formatShare(recent.share)} of the writes of the last ${recent.span} went to the value ${recent.value}`,
      recent.share,
      RECENT_SHARE_MAX,
    );
  else if (timeValues && data.itemsPerKey.p50 > 1 && !isOfAllTimes(recent, source))
    yield finding(
      'recency',
      `its values are times, such as ${biggest?.value ?? ''}: storage is even, but all that is written now goes to one value`,
      null,
      RECENT_SHARE_MAX,
    );
  else if (timeValues)
    yield finding(
      'time-values',
      'its values are times: what is written at the same moment goes to one value, and a query has to know the moment',
      null,
      null,
      // Fact SVC-3.
      'documents with one value share a logical partition',
    );
  if (documents > 0 && data.missing < documents && data.missing / documents > MISSING_SHARE_MAX.value)
    yield finding(
      'missing-values',
      `${formatShare(data.missing / documents)} of all documents have no value`,
      data.missing / documents,
      MISSING_SHARE_MAX,
    );
  if (!data.collisions.known && !current)
    yield finding(
      'collisions-unknown',
      'a sample cannot show how many documents share the new key and the id; a run without --sample can',
      null,
      null,
      'documents that collide may lie in any two pages',
    );
  if (data.uniqueKeyConflicts?.low === 0 && data.uniqueKeyConflicts.high > 0 && !current)
    yield finding(
      'unique-keys-unknown',
      data.uniqueKeyConflicts.known
        ? `up to ${number(data.uniqueKeyConflicts.high)} documents may be refused by a unique key; --exact counts them`
        : 'a sample cannot show whether documents would be refused by a unique key; a run without --sample can',
      data.uniqueKeyConflicts.high,
      // Fact SVC-7.
      { value: 0, source: 'unique keys hold within one key value' },
    );
  if (!current && observed !== null && observed.movesShare > MOVES_SHARE_MAX.value)
    yield finding(
      'moves',
      `${formatShare(observed.movesShare)} of all updates would move their document`,
      observed.movesShare,
      MOVES_SHARE_MAX,
    );
  if (!current && observed !== null && observed.brokenBatches.broken > 0)
    yield finding(
      'broken-batches',
      `${number(observed.brokenBatches.broken)} of ${number(observed.brokenBatches.seen)} batches would span several keys`,
      observed.brokenBatches.broken,
      // Fact SVC-1.
      { value: 0, source: 'a batch is limited to one key value' },
    );
  if (workload !== null && workload.shares['fan-out'] > FAN_OUT_SHARE_MAX.value)
    yield finding(
      'fan-out',
      `${formatShare(workload.shares['fan-out'])} of all queries ask every partition${unknownPart(workload)}`,
      workload.shares['fan-out'],
      FAN_OUT_SHARE_MAX,
    );
}

interface Compared {
  readonly current: Unjudged;
  /** What is wrong with the present key. */
  readonly presentRisks: ReadonlySet<FindingCode>;
  readonly risks: readonly KeyReason[];
}

/** What the present key lacks and the candidate has. */
function* gainsOf(
  { data, writes, workload, costs }: Unjudged,
  { current, presentRisks, risks }: Compared,
): Generator<KeyReason> {
  // Without a document that can get the key there is nothing to gain.
  if (data.documents === 0) return;
  const has = (...codes: readonly FindingCode[]): boolean => risks.some(({ code }) => codes.includes(code));
  const lacks = (...codes: readonly FindingCode[]): boolean =>
    codes.some((code) => presentRisks.has(code)) && !has(...codes);
  if (lacks('value-over-20-gb', 'value-near-20-gb', 'reaches-20-gb', 'uneven'))
    yield finding(
      'even-storage',
      `the biggest value has ${formatShare(data.top1Share)} of all documents instead of ${formatShare(current.data.top1Share)}`,
      data.top1Share,
      TOP_SHARE_MAX,
    );
  const [recent, before] = [recentOf(writes), recentOf(current.writes)];
  if (lacks('recency', 'hot-value') && recent !== undefined && before !== undefined)
    yield finding(
      'even-writes',
      `the hottest value gets ${formatShare(recent.share)} of the writes of the last ${recent.span} instead of ${formatShare(before.share)}`,
      recent.share,
      RECENT_SHARE_MAX,
    );
  if (lacks('few-values'))
    yield finding(
      'many-values',
      `${number(data.distinct.estimate)} values instead of ${number(current.data.distinct.estimate)}`,
      data.distinct.estimate,
      VALUES_MIN,
    );
  const [now, then] = [current.workload?.shares['fan-out'] ?? 0, workload?.shares['fan-out'] ?? 0];
  if (workload !== null && then < now - FAN_OUT_SHARE_MAX.value / 2)
    yield finding(
      'less-fan-out',
      `${formatShare(then)} of all queries ask every partition instead of ${formatShare(now)}`,
      then,
      FAN_OUT_SHARE_MAX,
    );
  const { monthly } = costs;
  if (monthly !== null && monthly.after < monthly.before * 0.95)
    yield finding(
      'cheaper',
      `${number(monthly.before - monthly.after)} dollars less a month`,
      monthly.after,
      {
        value: monthly.before,
        source: monthly.why,
      },
    );
}

/** For how long documents must have been written, so that the last writes show how the application writes. */
const HISTORY_SECONDS = 2 * 86_400;

/** Whether writes go to many times at once, as bookings do. A load in one go does so too, and shows nothing. */
function isOfAllTimes(recent: Recent | undefined, { writtenTs }: SourceFigures): boolean {
  return recent !== undefined && writtenTs !== null && writtenTs.last - writtenTs.first > HISTORY_SECONDS;
}

interface Recent {
  readonly span: 'hour' | 'day';
  readonly value: string;
  readonly share: number;
}

/** Returns the hottest value of the last hour, or of the last day if the hour had too few writes to say anything. */
function recentOf({ lastHour, lastDay }: Unjudged['writes']): Recent | undefined {
  const [span, { documents, hottest }] =
    lastHour.documents >= RECENT_WRITES_MIN ? (['hour', lastHour] as const) : (['day', lastDay] as const);
  if (documents < RECENT_WRITES_MIN || hottest === null) return undefined;
  return { span, value: hottest.value, share: hottest.share };
}

function finding(
  code: FindingCode,
  text: string,
  figure: number | null,
  limit: Limit | null,
  source = '',
): KeyReason {
  return { code, text, figure, threshold: limit?.value ?? null, source: limit?.source ?? source };
}

/** What cannot be classified counts as asking every partition, and the reader has to know how much that is. */
function unknownPart({ unknownShare }: NonNullable<Unjudged['workload']>): string {
  return unknownShare === 0 ? '' : `, of which ${formatShare(unknownShare)} cannot be classified`;
}
/** Why a document cannot get a key, by the reason that its dead letter would have. */
const REFUSED: Readonly<Record<string, string>> = {
  'missing-key': 'without a value that the key needs',
  'invalid-key': 'with a value that the template cannot use',
  'key-conflict': 'with another value where the key would be written',
  'too-large': 'would be larger than 2 MB',
  'key-too-long': 'with a key that is too long',
};

function gb(bytes: number): string {
  return (bytes / GB).toFixed(1);
}

function number(value: number): string {
  return formatCount(Math.round(value));
}

function about({
  documents,
  low,
  high,
}: {
  readonly documents: number;
  readonly low: number;
  readonly high: number;
}): string {
  return low === high ? number(documents) : `about ${number(documents)} (${number(low)} to ${number(high)})`;
}
