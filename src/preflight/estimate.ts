/**
 * Estimates what a migration will cost, from a sample of documents and from what the service reports of both
 * containers. Pure. The RU tables that the service publishes are only examples: real charges differ by up to a third
 * (fact SVC-31).
 */
import type { SourceSample } from './sample.ts';

export interface Estimate {
  /**
   * The number of documents in the source; null: not known, and then every figure that depends on it is null as well.
   */
  readonly documents: number | null;
  readonly bytes: number | null;
  readonly sourceRu: number | null;
  readonly targetRu: number | null;
  /** How long the copy takes at the RU/s of the slower side; null: the RU/s of neither side are known. */
  readonly hours: number | null;
  /** The side that takes longer; null: not known. */
  readonly limitedBy: 'source' | 'target' | null;
  readonly ledgerBytes: number | null;
  /** Bytes that each change during the migration adds to the ledger. */
  readonly ledgerBytesPerChange: number;
}

export interface EstimateParts {
  readonly sample: Pick<SourceSample, 'averageBytes' | 'averageKeyBytes' | 'averageTerms' | 'readRu'>;
  readonly documents: number | null;
  /** RU/s that the migration may use in the source; undefined: not known. */
  readonly sourceRuPerSecond: number | undefined;
  readonly targetRuPerSecond: number | undefined;
  /** How many of a document's values the target indexes. */
  readonly indexed: 'all' | 'some' | 'none';
}

/** RU to write a document of 1, 2, 4, ... 2048 KB (fact SVC-31). */
const WRITE_RU = [4.95, 6.29, 6.67, 7.04, 9.52, 11.23, 22.67, 48.19, 98.29, 184.57, 625, 1250] as const;
/** RU that each indexed value adds to a write. */
const TERM_RU = 0.2;
/** The assumed number of indexed values in a document, if the indexing policy lists its paths. */
const SOME_TERMS = 5;
/** How many bytes the ledger needs for a copied document, without its key value; measured by bench/ledger. */
const LEDGER_BYTES = 76;
/** The assumed bytes of a key value, if no document was sampled. */
const USUAL_KEY_BYTES = 40;
/** How many bytes the ledger needs for a document that changes during the migration. */
const ROW_BYTES = 150;

/** Returns about how large the ledger of a copy becomes, for key values of usual length. */
export function ledgerBytesFor(documents: number): number {
  return documents * (LEDGER_BYTES + USUAL_KEY_BYTES);
}

export function estimate(parts: EstimateParts): Estimate {
  const { sample, documents, sourceRuPerSecond, targetRuPerSecond, indexed } = parts;
  const keyBytes = Math.ceil(sample.averageKeyBytes);
  const ledgerBytesPerChange = ROW_BYTES + keyBytes;
  if (documents === null) {
    const nothing = { bytes: null, sourceRu: null, targetRu: null, ledgerBytes: null };
    return { documents, ...nothing, hours: null, limitedBy: null, ledgerBytesPerChange };
  }
  const terms = indexed === 'all' ? sample.averageTerms : indexed === 'some' ? SOME_TERMS : 0;
  const sourceRu = documents * Math.max(sample.readRu, documents === 0 ? 0 : 1);
  const targetRu = documents * createRu(sample.averageBytes, terms);
  const sourceHours = hoursFor(sourceRu, sourceRuPerSecond);
  const targetHours = hoursFor(targetRu, targetRuPerSecond);
  const known = [sourceHours, targetHours].filter((hours) => hours !== undefined);
  const hours = known.length === 0 ? null : Math.max(...known);
  return {
    documents,
    bytes: Math.round(documents * sample.averageBytes),
    sourceRu: Math.round(sourceRu),
    targetRu: Math.round(targetRu),
    hours,
    limitedBy: hours === null ? null : hours === targetHours ? 'target' : 'source',
    ledgerBytes: Math.round(documents * (LEDGER_BYTES + keyBytes)),
    ledgerBytesPerChange,
  };
}

/** Returns the RU to create a document with this many indexed values. */
export function createRu(bytes: number, terms: number): number {
  return writeRu(bytes) + TERM_RU * terms;
}

/** Returns the RU of a write without indexing, interpolated between the sizes in WRITE_RU. */
export function writeRu(bytes: number): number {
  const kb = Math.max(1, bytes / 1024);
  const column = Math.min(WRITE_RU.length - 2, Math.floor(Math.log2(kb)));
  const [low = 0, high = 0] = WRITE_RU.slice(column, column + 2);
  return low + (kb / 2 ** column - 1) * (high - low);
}

function hoursFor(ru: number, ruPerSecond: number | undefined): number | undefined {
  return ruPerSecond === undefined ? undefined : ru / ruPerSecond / 3600;
}

/** Returns how many of a document's values an indexing policy covers. */
export function indexedBy(policy: unknown): 'all' | 'some' | 'none' {
  const field = (name: string): unknown =>
    typeof policy === 'object' && policy !== null ? Reflect.get(policy, name) : undefined;
  if (field('indexingMode') === 'none') return 'none';
  const included = field('includedPaths');
  if (!Array.isArray(included)) return 'all';
  return included.some((one: unknown) => Reflect.get(Object(one), 'path') === '/*') ? 'all' : 'some';
}
