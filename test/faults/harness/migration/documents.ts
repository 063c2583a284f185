/** The documents of a fault run: their identities, and texts that break a program that parses and prints them. */
import type { Random } from '../../../../src/lib/random.ts';
import { pick } from '../seed.ts';
import { expectedOf, identityText } from './keys.ts';
import { LONG_TTL_SECONDS, SHORT_TTL_SECONDS, type Scenario } from './scenario.ts';

/** A document by its place in the source. */
export interface Subject {
  readonly id: string;
  readonly levels: readonly unknown[];
  readonly identity: string;
  /** Cannot collide, always fits, is never deleted: it has to be in the target from the first time on. */
  readonly isSolo: boolean;
}

/** What a version of a document is like. */
export interface Shape {
  readonly version: number;
  readonly isMarked?: boolean;
  readonly isMortal?: boolean;
  readonly misfit?: 'missing' | 'composite' | 'too-long' | 'in-the-way';
  readonly sizeBytes?: number;
  readonly group?: unknown;
}

/** Two megabytes, as the service counts a document. */
export const DOCUMENT_BYTES_MAX = 2 * 1024 * 1024;

/** Members that must arrive as they are written. */
const ODD_MEMBERS = [
  '"big":9223372036854775807',
  '"dec":1.10',
  '"neg":-0',
  '"e":1E5',
  '"long":123456789012345678901234567890',
  '"esc":"\\u00e9\\/\\ud83d\\ude00 é"',
  '"lone":"\\ud800"',
  '"__proto__":{"a":[ ]}',
  '"nested":{"id":"inner","_ts":5,"_etag":"x","group":"Z","ttl":1}',
  '"\\u0061b":1',
  ' "spaced" : [ 1 , { "a" : null } ] ',
  '"_custom":1',
  '"":""',
  '"constructor":"x"',
  // What an application sends back after a read; the service puts its own in their place.
  '"_rid":"stale","_etag":"\\"stale\\"","_ts":1',
];

/** What may be in place of a missing key value. */
const ODD_KEYS = ['{}', '{"x":1}', '[]', '["a",{}]'];

/** Every document that an application may write. */
export function subjectsOf(scenario: Scenario): Subject[] {
  const { ids, sourceKeys, sourceKey, solos, isDistinct = false } = scenario;
  const subject = (id: string, key: unknown, isSolo: boolean): Subject => {
    const levels = sourceKey.length === 1 ? [key] : [key, `s${id.length % 2}`];
    return { id, levels, identity: identityText(id, levels), isSolo };
  };
  const shared = ids.flatMap((id) =>
    sourceKeys.map((key, at) => subject(isDistinct ? `${id} ${at}` : id, key, false)),
  );
  const alone = Array.from({ length: solos }, (_none, at) =>
    subject(`solo-${at}`, sourceKeys[at % sourceKeys.length], true),
  );
  return [...shared, ...alone];
}

/** Documents that the application never changes after the start. */
export function ballastOf(scenario: Scenario): Subject[] {
  return Array.from({ length: scenario.ballast }, (_none, at) => {
    const levels = scenario.sourceKey.length === 1 ? [`ballast${at % 9}`] : [`ballast${at % 9}`, at];
    const id = `ballast-${at}`;
    return { id, levels, identity: identityText(id, levels), isSolo: true };
  });
}

/** The text of a version. */
export function textOf(scenario: Scenario, random: Random, subject: Subject, shape: Shape): string {
  const { group = pick(random, scenario.groups), misfit, version } = shape;
  const user = pick(random, ['u1', 'u2', 'u3', 4, null]);
  const members = [
    ...sourceMembers(scenario, random, subject),
    ...groupMembers(
      random,
      misfit === 'composite' ? { is: 'no key' } : misfit === 'too-long' ? tooLong : group,
      misfit,
    ),
    `"user":${JSON.stringify(user)}`,
    `"v":${version}`,
    `"unique":${JSON.stringify(uniqueOf(scenario, random, subject))}`,
    ...some(random, ODD_MEMBERS, random.below(4)),
  ];
  const [added] = scenario.key.derive;
  if (misfit === 'in-the-way' && added !== undefined && !scenario.sourceKey.includes(added.path))
    members.push(`"${added.path.slice(1)}":"another value"`);
  if (scenario.deletes === 'marker' && (shape.isMarked === true || random.below(3) === 0))
    members.push(`"isDeleted":${shape.isMarked === true}`);
  if (shape.isMortal === true) members.push(`"ttl":${1 + random.below(SHORT_TTL_SECONDS)}`);
  else if (scenario.ttl !== 'none' && scenario.defaultTtl > 0)
    members.push(`"ttl":${pick(random, [-1, LONG_TTL_SECONDS])}`);
  shuffle(random, members);
  const text = `{${[`"id":${JSON.stringify(subject.id)}`, ...members].join(random.below(5) === 0 ? ' , ' : ',')}}`;
  const { sizeBytes = Buffer.byteLength(text) + random.below(400) } = shape;
  const room = sizeBytes - Buffer.byteLength(text) - '"pad":"",'.length;
  return room <= 0 ? text : text.replace('{', `{"pad":"${'y'.repeat(room)}",`);
}

const tooLong = 'L'.repeat(2_100);

/** A document of the target that was never in the source, in a place that others may want. */
export function strangerOf(scenario: Scenario, random: Random, number: number): string {
  const group = pick(random, scenario.groups);
  const own = {
    id: pick(random, scenario.ids),
    group,
    place: { zone: group },
    user: pick(random, ['u1', 'u2']),
    unique: `stranger ${number}`,
    stranger: number,
  };
  const { key } = scenario;
  const expected = expectedOf({ key, sourceKey: [], missingKey: 'keep' }, own);
  if (expected.kind === 'refused') throw new Error('a stranger has a key');
  const additions = [...expected.additions].filter(([path]) => path !== key.keepSourceKeyAs);
  return JSON.stringify({
    ...own,
    ...Object.fromEntries(additions.map(([path, value]) => [path.slice(1), value])),
  });
}

/** The source key. The service takes an object or an array for a missing value, so each version may have another one. */
function sourceMembers({ sourceKey, key }: Scenario, random: Random, { levels }: Subject): string[] {
  return sourceKey.flatMap((path, level) => {
    const value = levels[level];
    if (value !== undefined) return [`"${path.slice(1)}":${JSON.stringify(value)}`];
    // Where the key path is derived, an object in it has no other place, and the document would be refused.
    if (key.keepSourceKeyAs !== undefined) return [];
    return some(random, ODD_KEYS, random.below(2)).map((odd) => `"${path.slice(1)}":${odd}`);
  });
}

/** The value that the new key is made of, in every place where a scenario may look for it. */
function groupMembers(random: Random, group: unknown, misfit: Shape['misfit']): string[] {
  if (misfit === 'missing') return some(random, ['"place":{"zones":[]}'], random.below(2));
  const text = random.below(4) === 0 && typeof group === 'string' ? escaped(group) : JSON.stringify(group);
  const name = random.below(8) === 0 ? '"gr\\u006fup"' : '"group"';
  return [`${name}:${text}`, `"place":{"near":1,"zone":${text}}`];
}

function escaped(text: string): string {
  const units = Array.from({ length: text.length }, (_none, at) =>
    text.charCodeAt(at).toString(16).padStart(4, '0'),
  );
  return `"${units.map((unit) => `\\u${unit}`).join('')}"`;
}

/** Few values, so that two documents of one key want the same; a solo's is its own. */
function uniqueOf({ uniqueKeys }: Scenario, random: Random, { identity, isSolo }: Subject): unknown {
  return isSolo || !uniqueKeys ? identity : pick(random, ['one', 'two', 'three', 4, 'five', 'six', 'seven']);
}

function some(random: Random, choices: readonly string[], count: number): string[] {
  const start = random.below(choices.length);
  return [...choices.slice(start), ...choices.slice(0, start)].slice(0, count);
}

function shuffle(random: Random, items: string[]): void {
  for (let at = items.length - 1; at > 0; at -= 1) {
    const other = random.below(at + 1);
    const kept = items[at] ?? '';
    items[at] = items[other] ?? '';
    items[other] = kept;
  }
}
