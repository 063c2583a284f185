/** Every way to ask a container for all it holds, each as identity and text; and their comparison. */
import { documentTexts, withoutLsn } from './texts.ts';
import { FeedFollower } from './feed.ts';
import { identityOf } from './replay.ts';
import type { Reply } from '../../../helpers/emulator/raw.ts';
import type { Doc, WireContainer } from '../../../helpers/emulator/wire-container.ts';

export type Texts = ReadonlyMap<string, string>;

export function keyed(texts: Iterable<string>): Map<string, string> {
  const set = new Map<string, string>();
  for (const text of texts) {
    const { id, pk } = JSON.parse(text) as Doc;
    const identity = identityOf(id, pk);
    if (set.has(identity)) throw new Error(`${identity} came twice`);
    set.set(identity, text);
  }
  return set;
}

async function paged(next: (continuation: string | undefined) => Promise<Reply>): Promise<string[]> {
  const texts: string[] = [];
  let continuation: string | undefined;
  do {
    const reply = await next(continuation);
    if (reply.status !== 200) throw new Error(`a page of all documents: ${reply.status} ${reply.text}`);
    texts.push(...documentTexts(reply.text));
    continuation = reply.headers['x-ms-continuation']?.toString();
  } while (continuation !== undefined);
  return texts;
}

/** By `SELECT * FROM c`, page by page. */
export async function byQuery(wire: WireContainer, maxItems: number): Promise<Texts> {
  return keyed(
    await paged((continuation) =>
      wire.query(
        'SELECT * FROM c',
        {},
        { 'x-ms-max-item-count': String(maxItems), 'x-ms-continuation': continuation },
      ),
    ),
  );
}

/** By the plain list of documents, of the whole container or of one range. */
export async function byList(wire: WireContainer, maxItems: number, rangeId?: string): Promise<Texts> {
  return keyed(
    await paged((continuation) =>
      wire.account.send('GET', `${wire.path}/docs`, {
        headers: {
          'x-ms-max-item-count': String(maxItems),
          'x-ms-continuation': continuation,
          'x-ms-documentdb-partitionkeyrangeid': rangeId,
        },
      }),
    ),
  );
}

/** By the latest-version feed from its beginning. */
export async function byFeed(wire: WireContainer, maxItems: number): Promise<Texts> {
  const texts: string[] = [];
  const onEntry = ({ text }: { text: string }): unknown => texts.push(withoutLsn(text));
  const follower = new FeedFollower(wire, { mode: 'lv', maxItems, onEntry });
  await follower.start('beginning');
  await follower.drain();
  return keyed(texts);
}

/** The differences between two sets, in words; none when they are alike to the byte. */
export function differences(expected: Texts, actual: Texts): string[] {
  const found: string[] = [];
  for (const [identity, text] of expected) {
    const other = actual.get(identity);
    if (other === undefined) found.push(`${identity} is missing; expected ${text}`);
    else if (other !== text) found.push(`${identity} is ${other}; expected ${text}`);
  }
  for (const [identity, text] of actual) {
    if (!expected.has(identity)) found.push(`${identity} should not be there: ${text}`);
  }
  return found.slice(0, 20);
}
