/** Shortcuts for asking a query about a handful of documents. */
import { Refusal } from '../../../../src/emulator/http/refusal.ts';
import { compileQuery, runPage } from '../../../../src/emulator/query/query.ts';
import type { Documents, StoredDocument } from '../../../../src/emulator/query/pages/pages.ts';

type Parameters = Readonly<Record<string, unknown>>;

export const ONE_PAGE = { maxItems: Infinity, maxBytes: Infinity, continuation: undefined };

/** Documents by their texts, at positions 1, 2, 3... */
export function stored(texts: readonly string[]): readonly StoredDocument[] {
  return texts.map((text, index) => ({ position: index + 1, text }));
}

export function offering(documents: readonly StoredDocument[]): Documents {
  return (after) => documents.filter((document) => document.position > after);
}

export function named(parameters: Parameters): { name: string; value: unknown }[] {
  return Object.entries(parameters).map(([name, value]) => ({ name: `@${name}`, value }));
}

/** The item texts of the whole answer. */
export function ask(query: string, texts: readonly string[], parameters: Parameters = {}): readonly string[] {
  const compiled = compileQuery({ query, parameters: named(parameters) });
  return runPage(compiled, offering(stored(texts)), ONE_PAGE).items;
}

/** The value of one expression about one document; undefined when there is none. */
export function evaluate(expression: string, text = '{}', parameters: Parameters = {}): unknown {
  const [item] = ask(`SELECT VALUE ${expression} FROM c`, [text], parameters);
  return item === undefined ? undefined : JSON.parse(item);
}

/** What the query is refused with; anything but a refusal with status 400 fails the test. */
export function refusalOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof Refusal && error.status === 400) return error.message;
    throw error;
  }
  throw new Error('the query was not refused');
}

export function refused(query: string, parameters: Parameters = {}): string {
  return refusalOf(() => compileQuery({ query, parameters: named(parameters) }));
}
