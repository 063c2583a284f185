/**
 * Derives warnings and notes for the operator before anything is written. Pure. A warning is about a possible mistake
 * that a migration cannot undo, so the operator has to accept it. A note describes a normal part of the migration.
 * Settings that can never work are refused in refusals.ts.
 */
import { formatCount, pluralize } from '../lib/counting.ts';
import { KEY_BYTES_ALERT, KEY_BYTES_MAX } from '../cosmos/container/large-keys.ts';
import type { SettingDifference } from '../cosmos/container/settings.ts';
import { ttlText } from '../spec/refusals.ts';
import type { ContainerFacts } from '../cosmos/container/inspect.ts';
import { show } from '../keys/show.ts';
import type { MigrationSpec } from '../spec/migration-spec.ts';
import { finerKeyHint } from './finer-key.ts';
import type { SourceSample } from './sample.ts';

export interface Warning {
  /** The kind of the warning. Scripts may rely on these names. */
  readonly kind:
    | 'same-key'
    | 'no-key'
    | 'most-lack-key'
    | 'most-refused'
    | 'few-values'
    | 'big-value'
    | 'collisions'
    | 'ttl'
    | 'unique-keys'
    | 'data-masking';
  readonly message: string;
  readonly why: string;
  readonly hint: string;
}

export interface FindingParts {
  readonly spec: MigrationSpec;
  readonly source: ContainerFacts;
  /** The target container; null: it does not exist, and will be created with the settings of the source. */
  readonly target: ContainerFacts | null;
  readonly sample: SourceSample;
  readonly differences: readonly SettingDifference[];
}

/** How many documents a sample needs at least. A smaller sample says nothing about "most documents". */
const SIGNIFICANT_MIN = 10;
/** A key with fewer values than this may have too few: hundreds are advisable (fact SVC-13). */
const VALUES_MIN = 100;
/** A key with fewer than VALUES_MIN values is reported if each value has at least this many documents, on average. */
const DOCUMENTS_PER_VALUE_MAX = 1000;
/** With fewer values than this, fewer documents for each value are enough for a report. */
const HANDFUL = 10;
/** A key with fewer than HANDFUL values is reported if each value has at least this many documents, on average. */
const DOCUMENTS_PER_ONE_OF_A_HANDFUL_MAX = 50;
const GB = 1024 ** 3;

export function warningsOf(parts: FindingParts): readonly Warning[] {
  return [...sameKeyWarnings(parts), ...keyWarnings(parts), ...settingWarnings(parts)];
}

/** A copy under the same key is rarely meant, except from the old hash of keys to the present one. */
function* sameKeyWarnings({ spec, source, target }: FindingParts): Generator<Warning> {
  const { partitionKey, derive } = spec;
  const isSame =
    derive.length === 0 &&
    partitionKey.join() === source.keyPaths.join() &&
    (target === null ? source.keyKind !== 'hash-v1' : source.keyKind === target.keyKind);
  if (!isSame) return;
  yield {
    kind: 'same-key',
    message: `the source already has the key ${partitionKey.join(', ')}`,
    why: 'the target would have the same documents under the same key',
    hint: 'choose another key; cosmig plan measures candidates',
  };
}

function* keyWarnings({ spec, sample, source }: FindingParts): Generator<Warning> {
  const { documents, missing, refused, collisions, collided, distinct, biggest } = sample;
  if (documents === 0) return;
  const key = spec.partitionKey.join(', ');
  const lacking = missing + refused['missing-key'];
  if (lacking === documents) {
    yield {
      kind: 'no-key',
      message: `none of ${formatCount(documents)} sampled documents has the key ${key}`,
      why: LACKING[spec.missingKey],
      hint: `check the path ${key}; property names are case-sensitive`,
    };
  } else if (documents >= SIGNIFICANT_MIN && lacking * 2 > documents) {
    yield {
      kind: 'most-lack-key',
      message: `${share(lacking, documents)} of the sampled documents lack the key ${key}`,
      why: LACKING[spec.missingKey],
      hint: 'choose a key that most documents have, or derive one with a default: --derive',
    };
  }
  const others = Object.values(refused).reduce((sum, count) => sum + count, 0) - refused['missing-key'];
  if (documents >= SIGNIFICANT_MIN && others * 2 > documents) {
    yield {
      kind: 'most-refused',
      message: `${share(others, documents)} of the sampled documents cannot be moved`,
      why: `they would become dead letters: ${refusedText({ ...refused, 'missing-key': 0 })}`,
      hint: 'choose another key, or see the reasons with cosmig key --explain',
    };
  }
  if (collisions > 0) {
    const [first] = collided;
    const named = first === undefined ? '' : `, the first with id ${show(first.id)}`;
    yield {
      kind: 'collisions',
      message: `${formatCount(collisions)} of ${formatCount(documents)} sampled documents have the same id as another one under the new key`,
      why: `only one document can have a given key and id${named}; the second one ${spec.onCollision === 'fail' ? 'stops the copy' : 'becomes a dead letter'}`,
      hint:
        lacking === documents
          ? 'choose a key that the documents have: most collisions go away with it'
          : finerKeyHint(spec, source.keyPaths),
    };
  }
  // Documents without the key do not count here: a warning above reports them.
  const moved = documents - lacking;
  if (lacking * 2 <= documents && isFew(distinct, { moved, total: source.documentCount ?? documents })) {
    yield {
      kind: 'few-values',
      message: `the key ${key} has ${distinct === 1 ? 'one value' : `only ${distinct} values`} in ${formatCount(documents)} sampled documents`,
      why: 'a value holds 20 GB and takes 10,000 RU/s at most, however large the container is',
      hint: 'choose a key with hundreds of values at least, or add a second level or a hash to it',
    };
  }
  const [top] = biggest;
  const bytes = source.sizeBytes ?? 0;
  if (top !== undefined && (top.documents / documents) * bytes > KEY_BYTES_ALERT) {
    const gb = (top.documents / documents) * (bytes / GB);
    yield {
      kind: 'big-value',
      message: `the key value ${top.values.map(show).join(', ')} would hold about ${gb.toFixed(0)} GB`,
      why: `a value holds ${KEY_BYTES_MAX / GB} GB at most, and this container grows`,
      hint: 'add a second level or a hash to the key',
    };
  }
}

/**
 * Returns whether the key has too few values for its documents. `distinct` counts those of the sample, and the
 * container may have more.
 */
function isFew(
  distinct: number,
  { moved, total }: { readonly moved: number; readonly total: number },
): boolean {
  if (distinct === 0 || moved === 0) return false;
  const perValue = total / distinct;
  if (distinct < HANDFUL) return perValue >= DOCUMENTS_PER_ONE_OF_A_HANDFUL_MAX;
  return distinct < VALUES_MIN && perValue >= DOCUMENTS_PER_VALUE_MAX;
}

const LACKING: Readonly<Record<MigrationSpec['missingKey'], string>> = {
  keep: 'all of them would share one logical partition, which holds 20 GB and takes 10,000 RU/s at most',
  'dead-letter': 'each of them would become a dead letter',
  fail: 'the first of them stops the copy',
};

function* settingWarnings({ spec, source, target, differences, sample }: FindingParts): Generator<Warning> {
  if (target === null) return;
  const [from, to] = [source.defaultTtl, target.defaultTtl];
  const ttl = { kind: 'ttl', hint: "set the target's TTL like the source's" } as const;
  if (from !== null && to === null) {
    yield {
      ...ttl,
      message: 'TTL is off in the target',
      why: `it is ${ttlText(from)} in the source: documents that expire there would stay in the target`,
    };
  } else if (to !== null && to > 0 && (from === null || from === -1 || to < from)) {
    yield {
      ...ttl,
      message: `TTL is ${ttlText(to)} in the target`,
      why: `it is ${ttlText(from)} in the source: documents that live there would expire in the target`,
    };
  } else if (to === -1 && from === null && (sample.withTtl > 0 || spec.ttl === 'remaining')) {
    yield {
      ...ttl,
      message: 'TTL is on in the target and off in the source',
      why:
        sample.withTtl > 0
          ? `${sample.withTtl} sampled documents have a ttl without effect in the source, and would expire in the target`
          : 'a document with a ttl of its own, which has no effect in the source, would expire in the target',
    };
  }
  const unique = differences.find(({ setting }) => setting === 'unique keys');
  if (unique !== undefined) {
    yield {
      kind: 'unique-keys',
      message: 'the unique keys of target and source differ',
      why: `source: ${unique.source}; target: ${unique.target}; they cannot be changed later`,
      hint: 'create the target again, for example with --create-target',
    };
  }
  const masking = differences.find(({ setting }) => setting === 'data masking');
  if (masking !== undefined && source.dataMaskingPolicy !== null) {
    yield {
      kind: 'data-masking',
      message: 'data that the source masks would be shown in the target',
      why: 'the masking policies of target and source differ',
      hint: "set the source's data masking policy on the target",
    };
  }
}

/** Yields notes for the operator about normal parts of this migration. */
export function* notesOf(parts: FindingParts): Generator<string> {
  const { spec, source, target, sample, differences } = parts;
  if (source.defaultTtl !== null) {
    if (spec.ttl === 'restart')
      yield `TTL is ${ttlText(source.defaultTtl)} in the source: the countdown of each document starts again when it is copied`;
  } else if (spec.ttl === 'remaining' && (target?.defaultTtl ?? null) === null)
    yield 'TTL is off in the source, so --ttl remaining changes nothing';
  if (uniqueKeysIn(source))
    yield 'unique keys apply within a key value: the new key groups other documents together';
  if (source.hasSystemKey)
    yield 'the source was created before partition keys; its documents have no key property';
  if (target?.keyKind === 'hash-v1')
    yield 'the target has a version 1 key: values are cut at 101 bytes, so longer ones share a partition';
  if (source.account.multiWrite === true)
    yield 'the source accepts writes in several regions: stop all writers before the cutover';
  if (source.account.multiWrite === null)
    yield 'cannot read whether the source accepts writes in several regions; --deletes avad needs a single one';
  if (sample.expired > 0) yield `${sample.expired} sampled documents expire before they could be copied`;
  if (!sample.isWhole && sample.documents > 0)
    yield `only ${pluralize(sample.documents, 'document')} were sampled, those that have not changed for longest; newer ones may lack the key or be larger, and what cannot be moved becomes a dead letter`;
  for (const { setting, source: one, target: other } of differences) {
    if (setting === 'TTL' || setting === 'unique keys') continue;
    yield `${setting} differ: source ${shortened(one)}, target ${shortened(other)}`;
  }
}

function uniqueKeysIn({ settings }: ContainerFacts): boolean {
  const keys: unknown = Reflect.get(Object(settings.uniqueKeyPolicy), 'uniqueKeys');
  return Array.isArray(keys) && keys.length > 0;
}

/** Returns how many documents cannot be moved and why, such as `3 too-large, 1 bad-id`. */
export function refusedText(refused: SourceSample['refused']): string {
  return Object.entries(refused)
    .filter(([, count]) => count > 0)
    .map(([reason, count]) => `${count} ${reason}`)
    .join(', ');
}

function share(part: number, whole: number): string {
  return `${Math.round((part / whole) * 100)} %`;
}

const POLICY_MAX = 60;

function shortened(text: string): string {
  return text.length <= POLICY_MAX ? text : `${text.slice(0, POLICY_MAX)}…`;
}
