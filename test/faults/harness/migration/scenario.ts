/**
 * Owns what one fault run of a migration varies: keys, documents, how deletes are found, who makes trouble and when
 * the mover is killed. A seed gives the same plan every time; the moments at which processes meet are the machine's.
 */
import { seededRandom, type Random } from '../../../../src/lib/random.ts';
import { pick } from '../seed.ts';

/** A value of the document, by its top-level or nested path, and what is done to it. */
export interface Part {
  readonly path: string;
  readonly filter?: { readonly hash: number };
}

/** A property that the mover writes: texts and values, one after the other. */
export interface Derivation {
  readonly path: string;
  readonly parts: ReadonlyArray<string | Part>;
}

/** How documents get their new key. */
export interface KeyRules {
  readonly name: string;
  /** The target's key paths. */
  readonly partitionKey: readonly string[];
  readonly derive: readonly Derivation[];
  readonly keepSourceKeyAs?: string;
}

/** Moments of the mover's work where it is killed (src/engine). */
const COPY_POINTS = [
  'anchored',
  'page-read',
  'intended',
  'outcomes-known',
  'committed',
  'settled',
  'takeover-intended',
  'removed',
  'moved',
  'letter-retried',
  'index-step',
] as const;
const TAIL_POINTS = [
  'page-read',
  'intended',
  'outcomes-known',
  'committed',
  'takeover-intended',
  'moved',
  'settled-piece',
  'removed',
  'settled',
  'lease-replaced',
  'anchor-reached',
  'letter-retried',
] as const;

/** A named point at its n-th passing, or so long after the start. */
export type Kill =
  | { readonly by: 'point'; readonly point: string; readonly passing: number }
  | { readonly by: 'time'; readonly afterMs: number };

export interface Scenario {
  readonly seed: number;
  /** One path or two. */
  readonly sourceKey: readonly string[];
  readonly key: KeyRules;
  readonly missingKey: 'keep' | 'dead-letter';
  readonly deletes: 'avad' | 'marker' | 'reconcile';
  /** `none`: no document expires. */
  readonly ttl: 'none' | 'restart' | 'remaining';
  /** The containers' default in seconds, where documents may expire; -1 is on without one. */
  readonly defaultTtl: number;
  /** The target allows each value of /unique once in a key value. */
  readonly uniqueKeys: boolean;
  /** Some documents have a value that cannot be a key, or is too long, or occupies the derived path. */
  readonly misfits: boolean;
  /** Some documents fit into the source only. */
  readonly giants: boolean;
  /** Another process writes documents into the target that have no source document. */
  readonly strangers: boolean;
  readonly ids: readonly string[];
  /** No two documents have the same id, so that none collide. */
  readonly isDistinct?: boolean;
  /** Values of the first source key path; undefined is none. */
  readonly sourceKeys: readonly unknown[];
  /** Values that the new key is made of. */
  readonly groups: readonly unknown[];
  /** Documents that cannot collide and always fit, but move. */
  readonly solos: number;
  /** Documents that the application never changes. */
  readonly ballast: number;
  readonly sourceRanges: number;
  readonly targetRanges: number;
  readonly writesPerSecond: number;
  readonly pageBytes: number;
  readonly replicaLagMs: number;
  /** A request of the mover is dead after this. */
  readonly requestTimeoutMs: number;
  /** How late a reply or a write may be; below the timeout, so that a dead request is dead. */
  readonly lateMs: number;
  readonly faults: 'none' | 'some' | 'storm';
  readonly resizes: boolean;
  readonly copyKills: readonly Kill[];
  readonly tailKills: readonly Kill[];
  /** Trouble below HTTP, between the mover and the account (test/helpers/emulator/rough-network.ts). */
  readonly network: 'none' | 'some' | 'storm';
}

/** Beyond any run, even where the clock is moved. */
export const LONG_TTL_SECONDS = 200_000;
/** The longest life of a document that is meant to expire. */
export const SHORT_TTL_SECONDS = 90;

const PAGE_BYTES = 4 * 1024 * 1024;

const PLAIN_IDS = ['1', '2', '3', '4', '5', '6', '7', '8'];
const ODD_IDS = [
  'a?b',
  'c#d',
  '50%',
  '%2F',
  'é 日',
  'with space',
  '"quoted"',
  '__proto__',
  "it's",
  '😀',
  '+&=',
];

/** Each kind of key that cosmig makes. */
const KEYS: readonly KeyRules[] = [
  { name: 'existing', partitionKey: ['/group'], derive: [] },
  { name: 'nested', partitionKey: ['/place/zone'], derive: [] },
  { name: 'hierarchical', partitionKey: ['/group', '/user'], derive: [] },
  {
    name: 'concat',
    partitionKey: ['/key'],
    derive: [{ path: '/key', parts: [{ path: '/group' }, ':', { path: '/user' }] }],
  },
  {
    name: 'hash',
    partitionKey: ['/key'],
    derive: [{ path: '/key', parts: ['h', { path: '/group', filter: { hash: 5 } }] }],
  },
  {
    name: 'hash-hierarchical',
    partitionKey: ['/group', '/bucket'],
    derive: [{ path: '/bucket', parts: [{ path: '/user', filter: { hash: 3 } }] }],
  },
  { name: 'copied', partitionKey: ['/key'], derive: [{ path: '/key', parts: [{ path: '/group' }] }] },
  {
    name: 'overlap',
    partitionKey: ['/pk'],
    derive: [{ path: '/pk', parts: [{ path: '/group' }] }],
    keepSourceKeyAs: '/oldPk',
  },
];

/** What the operator types for a derivation. */
export function templateOf({ path, parts }: Derivation): string {
  const texts = parts.map((part) => {
    if (typeof part === 'string') return part;
    const filter = part.filter === undefined ? '' : `|hash:${part.filter.hash}`;
    return `{${part.path}${filter}}`;
  });
  return `${path}=${texts.join('')}`;
}

/** The plan of a seed. Each trouble is on in some runs only: what hides behind one kind shows without it. */
export function scenarioOf(seed: number): Scenario {
  const random = seededRandom(seed);
  const often = (): boolean => random.below(3) > 0;
  const sometimes = (): boolean => random.below(4) === 0;
  const deletes = pick(random, ['avad', 'avad', 'marker', 'reconcile'] as const);
  const key = pick(random, KEYS);
  const isOverlap = key.keepSourceKeyAs !== undefined;
  const sourceKey = !isOverlap && sometimes() ? ['/pk', '/sub'] : ['/pk'];
  const requestTimeoutMs = pick(random, [800, 1_200, 1_800]);
  const giants = random.below(8) === 0;
  const keyKinds: readonly unknown[] = ['A', 'B', 'C', 7, null, true, 'é€'];
  // A delete of a document without a source key cannot be rebuilt from the feed of all versions.
  const sourceKeys =
    deletes === 'avad' || sourceKey.length > 1 || !sometimes() ? keyKinds : [...keyKinds, undefined];
  return {
    seed,
    sourceKey,
    key,
    missingKey: pick(random, ['keep', 'dead-letter'] as const),
    deletes,
    ttl: pick(random, ['none', 'none', 'restart', 'remaining'] as const),
    defaultTtl: pick(random, [-1, -1, LONG_TTL_SECONDS]),
    uniqueKeys: random.below(5) === 0,
    misfits: sometimes(),
    giants,
    // One without a source key looks like a source document where those may be without.
    strangers: sometimes() && !sourceKeys.includes(undefined),
    // Few ids and groups under several source keys: most slots are wanted by two documents.
    ids: [...some(random, PLAIN_IDS, 1 + random.below(6)), ...some(random, ODD_IDS, random.below(3))],
    sourceKeys: some(random, sourceKeys, 3 + random.below(3)),
    groups: some(random, ['P', 'Q', 'R', 'é', 7, 'x'.repeat(120), true, null, 1.5], 2 + random.below(3)),
    solos: 3 + random.below(12),
    ballast: pick(random, [0, 80, 300]),
    sourceRanges: 1 + random.below(3),
    targetRanges: 1 + random.below(3),
    // Of giants even this is a megabyte a second.
    writesPerSecond: Math.min(giants ? 30 : Infinity, pick(random, [30, 80, 160])),
    // Room for the largest ordinary document: as on the service, one always fits.
    pageBytes: giants ? PAGE_BYTES : pick(random, [40_000, 40_000, PAGE_BYTES]),
    replicaLagMs: often() ? pick(random, [40, 200, 600]) : 0,
    // Pages of giants take a busy machine seconds.
    requestTimeoutMs: giants ? requestTimeoutMs * 4 : requestTimeoutMs,
    lateMs: Math.round(requestTimeoutMs * 0.7),
    faults: pick(random, ['none', 'some', 'some', 'storm'] as const),
    resizes: often(),
    // The early ones first: what is copied is not copied again.
    copyKills: killsOf(random, COPY_POINTS, random.below(4)).toSorted((a, b) => stageOf(a) - stageOf(b)),
    tailKills: killsOf(random, TAIL_POINTS, 1 + random.below(4)),
    // Drawn last, so that older seeds keep the rest of their plan.
    network: pick(random, ['none', 'some', 'some', 'storm'] as const),
  };
}

function killsOf(random: Random, points: readonly string[], count: number): Kill[] {
  return Array.from({ length: count }, (): Kill => {
    if (random.below(4) === 0) return { by: 'time', afterMs: 300 + random.below(1_500) };
    // Most at one of the first passings, some further into the work.
    const passing = 1 + (random.below(4) > 0 ? random.below(3) : random.below(15));
    return { by: 'point', point: pick(random, points), passing };
  });
}

/** How far a copy is when a kill finds its point. */
function stageOf(kill: Kill): number {
  return kill.by === 'time' ? -1 : COPY_POINTS.findIndex((point) => point === kill.point);
}

/** So many of them, in their order. */
function some<T>(random: Random, choices: readonly T[], count: number): T[] {
  const left = choices.map((choice, index) => ({ choice, index }));
  while (left.length > count) left.splice(random.below(left.length), 1);
  return left.map(({ choice }) => choice);
}

/** The plan in a line, for a failure. */
export function shownScenario(scenario: Scenario): string {
  const { sourceKey, key, deletes, ttl, missingKey, faults, network, replicaLagMs, requestTimeoutMs } =
    scenario;
  const flags = (['uniqueKeys', 'misfits', 'giants', 'strangers', 'resizes'] as const).filter(
    (name) => scenario[name],
  );
  return [
    `${sourceKey.join('+')} -> ${key.name}, deletes=${deletes}, ttl=${ttl}, missing=${missingKey}`,
    `faults=${faults}, network=${network}, lag=${replicaLagMs} ms, timeout=${requestTimeoutMs} ms, ${flags.join(' ')}`,
    `kills: ${[...scenario.copyKills, ...scenario.tailKills].map(shownKill).join(', ')}`,
  ].join('; ');
}

export function shownKill(kill: Kill): string {
  return kill.by === 'time' ? `after ${kill.afterMs} ms` : `${kill.point}#${kill.passing}`;
}
