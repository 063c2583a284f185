/**
 * The verdict of the last comparison of documents, for processes that show what was found. Invariant: differences stay on
 * record until a later comparison has another verdict.
 */
import { pluralize } from '../lib/counting.ts';
import { json, number, text, type Columns } from '../lib/sqlite/column.ts';
import type { Database } from '../lib/sqlite/sqlite.ts';
import type { Transactions } from '../lib/sqlite/transaction.ts';
import { formatTime } from '../lib/clock.ts';
import { readVerifyFile } from './read-verify-file.ts';
import { describeDifferences, type Verdict } from './verdict.ts';

/** What a comparison has found. */
export interface VerdictFound extends Pick<Verdict, 'equal' | 'differences'> {
  /** When the proof was made that these differences make void; null: there was none, or nothing was found. */
  readonly voidedMs: number | null;
}

export interface LastVerdict extends VerdictFound {
  readonly atMs: number;
  readonly fingerprint: string;
}

export class LastVerdictRecord {
  readonly #transactions: Transactions;
  readonly #put;
  readonly #get;

  constructor(database: Database, transactions: Transactions) {
    this.#transactions = transactions;
    this.#put = database.prepare(
      'INSERT OR REPLACE INTO last_verdict (id, at_ms, fingerprint, found) VALUES (1, @atMs, @fingerprint, @found)',
    );
    this.#get = database.prepare<[], Columns>(LAST);
  }

  /** Records a verdict. `proofMs`: when the last proof was made, if it counts no longer. */
  put(
    { equal, differences }: Pick<Verdict, 'equal' | 'differences'>,
    about: { readonly atMs: number; readonly fingerprint: string; readonly proofMs: number | null },
  ): void {
    const { atMs, fingerprint, proofMs } = about;
    this.#transactions.run(() => {
      const before = verdictIn(this.#get.get());
      // A second comparison that finds differences has no proof left to make void.
      const voidedMs = equal === false ? (proofMs ?? before?.voidedMs ?? null) : null;
      const found: VerdictFound = { equal, differences, voidedMs };
      this.#put.run({ atMs, fingerprint, found: JSON.stringify(found) });
    });
  }
}

/** Returns the verdict of the last comparison in a verify file; null: none. Needs no lock. */
export function lastVerdict(path: string): LastVerdict | null {
  return readVerifyFile(path, 'last_verdict', (database) =>
    verdictIn(database.prepare<[], Columns>(LAST).get()),
  );
}

/** Returns why there is no proof, if the last comparison is the reason; null: it has confirmed no difference. */
export function describeVoid({
  atMs,
  equal,
  differences,
  voidedMs,
}: Omit<LastVerdict, 'fingerprint'>): string | null {
  if (equal !== false) return null;
  const total = Object.values(differences).reduce((sum, one) => sum + one, 0);
  const found = `the comparison of ${formatTime(atMs)} found ${pluralize(total, 'difference')} (${describeDifferences(differences)})`;
  return voidedMs === null ? found : `${found}, which makes the proof of ${formatTime(voidedMs)} void`;
}

const LAST = 'SELECT * FROM last_verdict';

function verdictIn(row: Columns | undefined): LastVerdict | null {
  if (row === undefined) return null;
  const found = json(row, 'found') as VerdictFound;
  return { ...found, atMs: number(row, 'at_ms'), fingerprint: text(row, 'fingerprint') };
}
