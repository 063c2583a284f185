/**
 * Owns what one run varies: which documents there are, how deletes are found, and which kinds of
 * trouble may happen. Small on purpose: two or three documents and two slots show every hole we know.
 */
import type { Chance } from './chance.ts';
import type { Identity, Key } from './source.ts';

export interface Scenario {
  readonly identities: readonly Identity[];
  /** The key values in the target: P and Q, or, on the way back, two of the source. */
  readonly keys?: readonly [Key, Key];
  readonly ranges: 1 | 2 | 4;
  readonly deletes: 'avad' | 'marker' | 'reconcile';
  /** Reads may be answered by replicas that lag. */
  readonly lag: boolean;
  /** Feed pages are never older than the session token; else only never older than their position. */
  readonly feedKeepsToken: boolean;
  readonly uniqueKeys: boolean;
  /** Documents may grow too large, or get a key value that no container accepts. */
  readonly misfits: boolean;
  readonly ttl: boolean;
  /** Documents name another key than the one that their rest yields, or none; only on a journey. */
  readonly names?: boolean;
  /** Documents have the property that is derived, before anything is derived; only on a journey. */
  readonly owns?: boolean;
  /** Two versions of a document in one transaction share an LSN. */
  readonly batches: boolean;
  readonly foreign: boolean;
  /** The application replaces documents by documents with another id. */
  readonly renames: boolean;
  readonly resizing: boolean;
  /** AVAD may forget what the mover has not read yet. */
  readonly retention: boolean;
  readonly crashesMax: number;
  /** A crash may be the machine's: what was committed since the last durable write of the ledger is gone. */
  readonly powerLoss: boolean;
  /** The mover skips an event for which a later one of the same document waits already. */
  readonly coalesces: boolean;
  readonly networkTrouble: boolean;
  /** How often the application acts before the mover is first started. */
  readonly appFirst: number;
  /** Actions of the application, and of everything together. */
  readonly appMax: number;
  readonly actionsMax: number;
}

/** The service refuses merges while AVAD is on. */
export function canMerge({ deletes }: Scenario): boolean {
  return deletes !== 'avad';
}

const CASTS: readonly (readonly Identity[])[] = [
  ['A7'],
  ['A7', 'B7'],
  ['A7', 'C7'],
  ['A7', 'C7'],
  ['A7', 'B7', 'C7'],
  ['A7', 'A8', 'C7'],
];

/** Each trouble is on in some runs only: what hides behind one kind of trouble shows without it. */
export function randomScenario(chance: Chance): Scenario {
  const often = (): boolean => chance.below(3) > 0;
  const sometimes = (): boolean => chance.below(4) === 0;
  const deletes = chance.one(['avad', 'avad', 'marker', 'reconcile'] as const);
  return {
    identities: chance.one(CASTS),
    ranges: chance.one([1, 2, 4] as const),
    deletes,
    lag: often(),
    feedKeepsToken: often(),
    uniqueKeys: sometimes(),
    misfits: sometimes(),
    ttl: deletes !== 'marker' && sometimes(),
    batches: sometimes(),
    foreign: chance.below(8) === 0,
    // Tested apart, so that the seeds of all other rules stay what they are.
    renames: false,
    resizing: sometimes(),
    retention: deletes === 'avad' && sometimes(),
    crashesMax: chance.below(3),
    powerLoss: sometimes(),
    coalesces: chance.below(2) === 0,
    networkTrouble: chance.below(2) === 0,
    appFirst: chance.below(4),
    appMax: 3 + chance.below(8),
    actionsMax: 40 + chance.below(240),
  };
}
