/** Entries of the feed of all versions become changes. */
import { expect, test } from 'vitest';
import type { RunContext } from '../../../../src/engine/context.ts';
import { AllChanges } from '../../../../src/engine/tail/change-reader.ts';
import { makePlan } from '../../../../src/keys/plan.ts';

const plan = makePlan({ sourcePaths: ['/a'], partitionKey: ['/b'], derive: [], missingKey: 'keep' });
const versions = { plan, kind: 'hash-v2', ttl: { mode: 'restart' }, marker: null } as const;
const reader = new AllChanges({ versions, plan } as unknown as RunContext);

/** The changes of a page, in short: the name of the document, what the change does, and what the feed says of it. */
function changesOf(...entries: readonly string[]): unknown[] {
  const page = Buffer.from(`{"Documents":[${entries.join(',')}]}`);
  const { changes } = reader.read(page, { nowTs: 0, indexId: 1, anchorLsn: Infinity });
  return changes.map(({ identity, version, lsn, shown }) => [
    identity.name.join(' '),
    version === 'gone' || version === null ? version : version.body.toString(),
    lsn,
    shown,
  ]);
}

const CURRENT = '"current":{"id":"i","a":"x","b":"y"}';
const BODY = '{"id":"i","a":"x","b":"y"}';

test.each<[string, string, unknown[]]>([
  [
    'create',
    `{${CURRENT},"metadata":{"operationType":"create","lsn":5}}`,
    [['"i" "x"', BODY, 5, { as: 'create', previousLsn: null }]],
  ],
  [
    'replace',
    `{${CURRENT},"metadata":{"operationType":"replace","lsn":5,"previousImageLSN":3}}`,
    [['"i" "x"', BODY, 5, { as: 'replace', previousLsn: 3 }]],
  ],
  [
    'replace with the previous image',
    `{${CURRENT},"previous":{"id":"\\u0069","a":"x","b":"z"},"metadata":{"operationType":"replace","lsn":5}}`,
    [['"i" "x"', BODY, 5, { as: 'replace', previousLsn: null }]],
  ],
  [
    'rename with the previous image',
    `{${CURRENT},"previous":{"id":"h","a":"x"},"metadata":{"operationType":"replace","lsn":5}}`,
    [
      ['"i" "x"', BODY, 5, undefined],
      ['"h" "x"', null, 5, undefined],
    ],
  ],
  [
    'delete',
    '{"metadata":{"operationType":"delete","lsn":5,"previousImageLSN":3,"id":"i","partitionKey":{"a":"x"}}}',
    [['"i" "x"', 'gone', 5, { as: 'delete', previousLsn: 3 }]],
  ],
])('changes of all versions: %s -> as the feed shows it', (_name, entry, expected) => {
  expect(changesOf(entry)).toEqual(expected);
});

test.each([
  ['a change without an LSN', `{${CURRENT},"metadata":{"operationType":"create"}}`, 'has no _lsn'],
  [
    'a change without its document',
    '{"metadata":{"operationType":"replace","lsn":5}}',
    'a change has no document',
  ],
])(
  'changes of all versions: %s -> the page is damaged, and no change is skipped',
  (_name, entry, message) => {
    const sound = `{${CURRENT},"metadata":{"operationType":"create","lsn":5}}`;
    expect(() => changesOf(sound, entry)).toThrow(message);
  },
);
