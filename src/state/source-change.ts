/** A change that cosmig did not expect, in one range of a container: as the journal keeps it, and in words. */

/** Documents of one range that another process has changed. */
export interface SourceChange {
  readonly range: string;
  /** The ids of some of the documents, as JSON texts; empty if the feed does not name the documents. */
  readonly ids: readonly string[];
  /** `split`: the range was split or merged, so its end has to be read again. */
  readonly what: 'written' | 'deleted' | 'split';
}

/** How many documents are named for each range and each kind of change. More may have changed. */
export const IDS_MAX = 5;

export function describeChange({ range, ids, what }: SourceChange): string {
  const named = ids.length === 0 ? 'documents' : ids.join(', ');
  const others = ids.length < IDS_MAX ? '' : ' and perhaps others';
  return `${named}${others} ${what} in range ${range}`;
}

/** Describes changes, each range and each kind of change once. */
export function describeChanges(changes: readonly SourceChange[]): string {
  const merged = new Map<string, SourceChange>();
  for (const { range, ids, what } of changes) {
    const before = merged.get(`${what} ${range}`)?.ids ?? [];
    merged.set(`${what} ${range}`, { range, what, ids: [...new Set([...before, ...ids])].slice(0, IDS_MAX) });
  }
  return [...merged.values()].map(describeChange).join('; ');
}
