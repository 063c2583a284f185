/**
 * Puts the documents of a test into a container, many with each request: a request for each of them costs a millisecond of
 * a core. The emulator writes up to a hundred of one range in one transaction, and a page of a feed has whole transactions:
 * not for a test in which it matters where pages end.
 */
import { setTimeout } from 'node:timers/promises';
import type { Container, JSONObject, OperationInput } from '@azure/cosmos';

/** The most operations that one request may carry. */
const OPERATIONS_MAX = 100;
const THROTTLED = 429;
const PAUSE_MS = 50;

/** Upserts them all. */
export async function bulkLoad(container: Container, documents: readonly object[]): Promise<void> {
  for (let at = 0; at < documents.length; at += OPERATIONS_MAX) {
    let waiting = documents
      .slice(at, at + OPERATIONS_MAX)
      .map((document): OperationInput => ({ operationType: 'Upsert', resourceBody: document as JSONObject }));
    while (waiting.length > 0) {
      const results = await container.items.bulk(waiting);
      const refused = results.find(({ statusCode }) => statusCode >= 400 && statusCode !== THROTTLED);
      if (refused !== undefined) throw new Error(`a document was refused: ${JSON.stringify(refused)}`);
      const throttled = waiting.filter((_operation, index) => results[index]?.statusCode === THROTTLED);
      if (throttled.length > 0) await setTimeout(PAUSE_MS);
      waiting = throttled;
    }
  }
}
