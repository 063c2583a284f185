/** What cosmig relies on in the feed of all versions and deletes. */
import { lsnOf } from '../../cosmos/feed/session-tokens.ts';
import type { Key } from '../../documents/batch-body.ts';
import { allVersionsScan } from '../../documents/page-scan.ts';
import { Deletion } from '../../keys/rekey.ts';
import { memberOf } from '../../lib/json/json.ts';
import type { Answer, Probe } from './probe.ts';
import {
  documentsIn,
  flatText,
  levelsText,
  type Operation,
  type ScratchContainers,
  type ScratchContainer,
} from './scratch.ts';

export const ALL_VERSIONS: readonly Probe[] = [
  {
    id: 'all-versions',
    fact: 'SVC-18',
    claim: 'the feed of all versions shows each create, replace and delete, in their order',
    otherwise: 'the tail misses versions or deletes: use --deletes reconcile',
    ask: async (scratch) => {
      const key = ['versions'];
      const [id, changed] = ['versions', flatText('versions', 'versions', { changed: true })];
      const found = await changesOf(scratch, scratch.flat, [
        { verb: 'create', key, text: flatText(id, key[0]) },
        { verb: 'replace', key, id, text: changed },
        { verb: 'delete', key, id },
      ]);
      if (found === undefined) return NOT_SERVED;
      const seen = found.entries.map(({ metadata }) => String(memberOf(metadata, 'operationType')));
      return { holds: seen.join() === 'create,replace,delete', seen: seen.join(', ') };
    },
  },
  {
    id: 'all-versions-lsn',
    fact: 'SVC-18',
    claim: 'a change in the feed of all versions has the LSN that the session token of its write names',
    otherwise:
      'nothing for documents; positions that status shows for deletes are of another line; report this',
    ask: async (scratch) => {
      const { flat } = scratch;
      const key = ['versions-lsn'];
      const found = await changesOf(scratch, flat, [
        { verb: 'create', key, text: flatText('versions-lsn', key[0]) },
      ]);
      if (found === undefined) return NOT_SERVED;
      const shown = memberOf(found.entries[0]?.['metadata'], 'lsn');
      const written = lsnOf(found.sessionToken);
      return {
        holds: shown === written,
        seen: `${String(shown)} in the feed, ${written} in the session token`,
      };
    },
  },
  {
    id: 'rename-shown',
    fact: 'SVC-51',
    claim: 'the feed of all versions shows a replace with another id as a replace, and no delete',
    otherwise: 'cosmig does not notice that a document was renamed: compare before each cutover',
    ask: async (scratch) => {
      const key = ['rename-shown'];
      const [before, after] = ['shown-before', 'shown-after'];
      const found = await changesOf(scratch, scratch.flat, [
        { verb: 'create', key, text: flatText(before, key[0]) },
        { verb: 'replace', key, id: before, text: flatText(after, key[0]) },
      ]);
      if (found === undefined) return NOT_SERVED;
      const shown = found.entries.map(({ current, metadata }) => {
        const id = memberOf(current, 'id') ?? memberOf(metadata, 'id');
        return `${String(memberOf(metadata, 'operationType'))} ${String(id)}`;
      });
      return { holds: shown.join() === `create ${before},replace ${after}`, seen: shown.join(', ') };
    },
  },
  {
    id: 'delete-key',
    fact: 'SVC-26',
    claim: 'a delete names the id and the key of its document: a text, a number, true or null',
    otherwise:
      'the tail cannot apply deletes: each one makes a comparison necessary; use --deletes reconcile',
    ask: async (scratch) => {
      const keys = ['text', 12.5, true, null];
      return deletesNamed(scratch, scratch.flat, {
        documents: keys.map((key, n) => ({
          id: `delete-${n}`,
          key: [key],
          text: flatText(`delete-${n}`, key),
        })),
        isExpected: (named, { id, key }) =>
          named !== undefined && JSON.stringify(named) === JSON.stringify([id, ...key]),
      });
    },
  },
  {
    id: 'delete-missing-key',
    fact: 'SVC-26',
    claim: 'a delete does not show a missing key value, or an object in its place, as if it were another one',
    otherwise:
      'a delete of a document without the key is taken for one with another key: use --deletes reconcile',
    ask: async (scratch) => {
      const values = { 'delete-missing': undefined, 'delete-object': { is: 'an object' } };
      return deletesNamed(scratch, scratch.flat, {
        documents: Object.entries(values).map(([id, value]) => ({
          id,
          key: [undefined],
          text: flatText(id, value),
        })),
        isExpected: (named) => named === undefined || named[1] === undefined,
      });
    },
  },
  {
    id: 'delete-levels',
    fact: 'SVC-26',
    claim: 'a delete names each level of a hierarchical key, nested paths included',
    otherwise: 'the tail cannot apply deletes from containers with such keys: use --deletes reconcile',
    ask: async (scratch) => {
      const id = 'delete-levels';
      const text = levelsText(id, 'a', 2.5);
      return deletesNamed(scratch, scratch.levels, {
        documents: [{ id, key: ['a', 2.5], text }],
        isExpected: (named) => JSON.stringify(named) === JSON.stringify([id, 'a', 2.5]),
      });
    },
  },
];

const NOT_SERVED: Answer = { notAsked: 'the account does not serve all versions and deletes' };

interface Changed {
  readonly pages: readonly Buffer[];
  readonly entries: ReadonlyArray<Readonly<Record<string, unknown>>>;
  readonly sessionToken: string | undefined;
}

/** Carries out operations and returns what the feed shows of them; undefined if the account does not have the feed. */
async function changesOf(
  { hasAllVersions }: ScratchContainers,
  container: ScratchContainer,
  operations: readonly Operation[],
): Promise<Changed | undefined> {
  if (!hasAllVersions) return undefined;
  const { position } = await container.readPage('all-versions', 'now');
  let sessionToken: string | undefined;
  // Each operation has a request of its own, because changes of one transaction share an LSN.
  for (const operation of operations) ({ sessionToken } = await container.run(operation));
  const pages = await container.changesAfter(position, operations.length, sessionToken);
  return { pages, entries: pages.flatMap(documentsIn), sessionToken };
}

interface Deleted {
  readonly id: string;
  readonly key: Key;
  readonly text: string;
}

/** Deletes documents, and reads their names as a tail does. */
async function deletesNamed(
  scratch: ScratchContainers,
  container: ScratchContainer,
  {
    documents,
    isExpected,
  }: {
    readonly documents: readonly Deleted[];
    readonly isExpected: (named: readonly unknown[] | undefined, deleted: Deleted) => boolean;
  },
): Promise<Answer> {
  if (!scratch.hasAllVersions) return NOT_SERVED;
  const { keyPaths } = container;
  const made: Deleted[] = [];
  for (const document of documents) {
    const { key, text } = document;
    const { status } = await container.one({ verb: 'create', key, text });
    // Whether such a document may exist is asked by another probe (key-objects).
    if (status === 201) made.push(document);
  }
  const { position } = await container.readPage('all-versions', 'now');
  const deletes = made.map(({ id, key }): Operation => ({ verb: 'delete', id, key }));
  let sessionToken: string | undefined;
  for (const operation of deletes) ({ sessionToken } = await container.run(operation));
  const pages = await container.changesAfter(position, made.length, sessionToken);
  const names = pages.flatMap((page) => namesIn(page, keyPaths));
  const wrong = made.findIndex((deleted, row) => !isExpected(names[row], deleted));
  const shown = pages.flatMap(documentsIn).map(({ metadata }) => memberOf(metadata, 'partitionKey'));
  return {
    holds: made.length > 0 && names.length === made.length && wrong < 0,
    seen: shown.map((key) => JSON.stringify(key) ?? 'no key').join(', '),
  };
}

/** Returns the id and key of each delete in a page; undefined for a delete whose document a tail cannot identify. */
function namesIn(
  page: Buffer,
  keyPaths: ReadonlyArray<readonly string[]>,
): ReadonlyArray<readonly unknown[] | undefined> {
  const scan = allVersionsScan([], keyPaths);
  const deletion = new Deletion(scan);
  const words = new Uint32Array(4);
  scan.scan(page);
  return Array.from({ length: scan.count }, (_none, row) =>
    deletion.read(row, words, 0)
      ? deletion.name(row).map((level): unknown => (level === null ? undefined : JSON.parse(level)))
      : undefined,
  );
}
