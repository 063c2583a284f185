/** What goes in and out at the door, `run.ts`. */
import type { Project } from '../evaluate/project.ts';
import type { QueryRow } from '../evaluate/row.ts';
import type { Statement } from '../parse/syntax.ts';

export interface QuerySpec {
  readonly query: string;
  readonly parameters?: readonly { readonly name: string; readonly value: unknown }[];
}

export interface StoredDocument {
  /** Rises from document to document and stays with one for its life. */
  readonly position: number;
  /** The whole document as JSON, system properties included. */
  readonly text: string;
}

/** Documents behind a position, in rising order. An ordered page comes back for each of its items. */
export type Documents = (afterPosition: number) => Iterable<StoredDocument>;

export interface QueryPage {
  /** JSON texts. */
  readonly items: string[];
  readonly continuation: string | undefined;
  /** How many documents, and bytes of them, were looked at. */
  readonly scanned: number;
  readonly scannedBytes: number;
}

export interface PageLimits {
  readonly maxItems: number;
  readonly maxBytes: number;
  readonly continuation: string | undefined;
}

export interface CompiledQuery {
  /** Set when only documents of this id can be answers: the store may offer just those. */
  readonly idEquals: string | undefined;
  /** Only the number of all documents is asked for: `countPage` answers that. */
  readonly countsAll: boolean;
  readonly fingerprint: string;
  readonly statement: Statement;
  readonly keeps: (row: QueryRow) => boolean;
  readonly project: Project;
}
