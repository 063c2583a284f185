/**
 * Bodies for generated requests: of every kind that the handlers read, nearly right, broken, hostile, or
 * larger than allowed.
 */
import * as fc from 'fast-check';

const deep = (open: string, close: string, levels = 100_000): string =>
  open.repeat(levels) + close.repeat(levels);
const DEEP = deep('[', ']');
const DEEP_OBJECT = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`;

/** Large or hostile texts; each is a value wherever one fits. */
const HOSTILE_VALUES = [
  DEEP,
  DEEP_OBJECT,
  deep('[', ']', 126),
  deep('[', ']', 129),
  '1e400',
  '-0',
  '9'.repeat(30_000),
] as const;

const value: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: fc.jsonValue({ maxDepth: 3 }).map((json) => JSON.stringify(json)) },
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      'null', 'true', '0', '1', '-1', '400', '1.5', '""', '"a"', '"b"', '"/a"', '[]', '{}', '["/a"]', '[{}]', '"constructor"',
      '"__proto__"', '{"toString":1,"valueOf":1}', '{"__proto__":{"a":1}}', '"\\ud800"', '"日本\\n"', '9223372036854775807',
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom(...HOSTILE_VALUES) },
); // prettier-ignore

/** An object text: each member right most of the time, else any value, else left out. */
function objectOf(members: Readonly<Record<string, readonly string[]>>): fc.Arbitrary<string> {
  const parts = Object.entries(members).map(([member, good]) =>
    fc
      .oneof(
        { weight: 8, arbitrary: fc.constantFrom(...good) },
        { weight: 1, arbitrary: value },
        { weight: 1, arbitrary: fc.constant(undefined) },
      )
      .map((text) => (text === undefined ? undefined : `${JSON.stringify(member)}:${text}`)),
  );
  return fc.tuple(...parts).map((texts) => `{${texts.filter((text) => text !== undefined).join(',')}}`);
}

const document = objectOf({
  id: ['"a"', '"b"', '"x"', '"日本"', '"\\ud800"', '"a\\u0000b"', '"constructor"'],
  pk: ['"a"', '"a"', '"a"', '"b"', '1', 'null', '-0', '"\\ud800"', '1e999', '[1]'],
  ttl: ['1', '-1', '1e9', '60', '"5"'],
  body: ['"x"', '[1,[2,{"b":null}]]', '{"n":1.10,"__proto__":1}', '9007199254740993'],
  _etag: ['1'],
});

const patchOperation = objectOf({
  op: ['"add"', '"set"', '"replace"', '"remove"', '"incr"', '"move"', '"constructor"'],
  path: ['"/body"', '"/body/0"', '"/body/-"', '"/a/b"', '"/id"', '"/pk"', '"/ttl"', '"/"', '"//"', '"/~2"', '"/__proto__/x"', '"/_ts"'],
  value: ['1', '"x"', 'null', '{"a":[1]}', '1e400', '9223372036854775807'],
}); // prettier-ignore

const patch = fc.oneof(
  fc.array(patchOperation, { maxLength: 12 }).map((list) => `[${list.join(',')}]`),
  fc
    .tuple(
      fc.array(patchOperation, { maxLength: 3 }),
      fc.constantFrom('"FROM c WHERE c.id = \\"a\\""', '"FROM"', '1', '"FROM c WHERE"', '""'),
    )
    .map(([list, condition]) => `{"condition":${condition},"operations":[${list.join(',')}]}`),
);

const LONG_KEY = JSON.stringify(JSON.stringify(['k'.repeat(20_000)]));

const batchOperation = document.chain((text) =>
  objectOf({
    operationType: ['"Create"', '"Upsert"', '"Read"', '"Replace"', '"Delete"', '"Patch"', '"constructor"', '"toString"', '"create"'],
    id: ['"a"', '"b"', '"x"'],
    partitionKey: ['"[\\"a\\"]"', '"[\\"b\\"]"', '"[1]"', '"[{}]"', '"["', '"[[1]]"', '"[\\"a\\"]"', LONG_KEY],
    resourceBody: [text, text, text, '[{"op":"set","path":"/z","value":1}]'],
    ifMatch: ['"*"', '"x"'],
    ifNoneMatch: ['"x"'],
  }),
); // prettier-ignore

const batch = fc.array(batchOperation, { maxLength: 8 }).map((list) => `[${list.join(',')}]`);

const QUERY_TEXTS = [
  '"SELECT * FROM c"', '"SELECT VALUE COUNT(1) FROM c"', '"SELECT c.id FROM c WHERE c.pk = @p ORDER BY c.body DESC"', '"SELECT *"',
  '"SELECT TOP 1 c[\\"a b\\"] FROM c OFFSET 1 LIMIT 1"', '"SELECT c.body FROM c ORDER BY c.id"', '""', '"SELECT"',
] as const; // prettier-ignore

const query = objectOf({
  query: [...QUERY_TEXTS, JSON.stringify(`SELECT * FROM c WHERE ${'('.repeat(20_000)}`), `"SELECT ${'-'.repeat(50_000)}1"`],
  parameters: ['[]', '[{"name":"@p","value":"a"}]', '[{"name":1}]', '[{}]', '[null]', `[{"name":"@p","value":${DEEP}}]`],
}); // prettier-ignore

const container = objectOf({
  id: ['"c1"', '"c2"', '"日本"', '"play"', '"a\\nb"', '"\\ud800"'],
  partitionKey: [
    '{"paths":["/pk"],"kind":"Hash","version":2}', '{"paths":["/pk"]}', '{"paths":["/a","/b"],"kind":"MultiHash","version":2}',
    '{"paths":[]}', '{"paths":["pk"]}', '{"paths":["/\\"a b\\"/c"]}', '{"paths":[1]}', '{"paths":["/a"],"kind":"Range"}', `{"paths":[${DEEP}]}`,
  ],
  indexingPolicy: ['{"indexingMode":"none"}', '{"includedPaths":[{"path":"/*"}]}', '{"includedPaths":[1]}', '{"excludedPaths":"x"}'],
  defaultTtl: ['-1', '60', '0', '"60"', 'null'],
  uniqueKeyPolicy: ['{"uniqueKeys":[{"paths":["/u"]}]}', '{"uniqueKeys":[{}]}', '{"uniqueKeys":1}'],
  conflictResolutionPolicy: ['null', '{"mode":"Custom"}'],
  changeFeedPolicy: ['{}', '{"retentionDuration":5}'],
}); // prettier-ignore

const throughput = ['500', '600', '100', '30000', '1000000', '1e400', '"500"'];
const offer = fc.oneof(
  objectOf({ content: throughput.map((ru) => `{"offerThroughput":${ru}}`) }),
  objectOf({
    content: ['{"offerAutopilotSettings":{"maxThroughput":1000}}', '{"offerAutopilotSettings":null}'],
  }),
);

const script = objectOf({ id: ['"s"', '"日本"', '"a/b"'], body: ['"function () {}"', '1', DEEP] });

const settings = objectOf({
  avad: ['true', 'false'],
  numbers: ['"service"', '"verbatim"'],
  queries: ['"direct"', '"planned"'],
  replicaLagMs: ['0', '50', '1e308'],
  pageBytes: ['0', '1', '4194304'],
  rangeLimitBytes: ['0', '1000', '1e12'],
  ttlPurgeDelayMs: ['0', '1e308'],
  retentionSeconds: ['1', '604800', '1e308'],
});

/** Rules that are well formed match nothing that the test asks: other tests say what they do. */
const faults = objectOf({
  seed: ['1', '-1', '1e9'],
  rules: [
    '[]', '[{"match":{"db":"nowhere"},"effect":{"status":503}}]', '[{"match":{"db":"nowhere"},"effect":{}}]', '[{"effect":{"status":99}}]',
    '[{"match":{"op":"constructor"},"effect":{"status":500}}]', `[${DEEP}]`,
  ],
}); // prettier-ignore

const admin = fc.oneof(
  settings,
  faults,
  objectOf({ offsetMs: ['0', '1000', '-1000', '1e400', '"1"', '3e12', '-1.5'] }),
  objectOf({ rangeId: ['"0"', '0', '"99"'], durationMs: ['0', '5', '300', '-1'] }),
  objectOf({ rangeIds: ['["0","1"]', '[0,0]', '[{"toString":1},1]', `[${DEEP},1]`, '["1","2"]'] }),
);

const OVERSIZED = [
  'x'.repeat(3_000_000),
  `{"id":"big","pk":"a","text":"${'x'.repeat(3_000_000)}"}`,
  `{"id":"big","pk":"a","text":"${'x'.repeat(2_200_000)}"}`,
  `[${'{"operationType":"Create"},'.repeat(90_000)}1]`,
] as const;

const brokenText = fc.oneof(
  fc.constantFrom('', ' ', '{', '[', '{"id":', '{"id":"a"}}', "{'id':1}", 'null', '"text"', 'NaN', '\u0000', '{"a":01}', '\ufeff{}', DEEP, DEEP_OBJECT),
  fc.string({ unit: 'binary', maxLength: 60 }),
); // prettier-ignore
const bytes = fc.uint8Array({ maxLength: 60 }).map((array) => Buffer.from(array));

const anyBody: fc.Arbitrary<string | Buffer | undefined> = fc.oneof(
  { weight: 3, arbitrary: fc.constant(undefined) },
  { weight: 12, arbitrary: fc.oneof(document, patch, batch, query, container, offer, script, admin) },
  { weight: 3, arbitrary: brokenText },
  { weight: 2, arbitrary: bytes },
);

/** A body with one piece cut out, doubled or overwritten. */
const mutated = fc
  .tuple(
    fc.oneof(document, patch, batch, query, container),
    fc.nat(),
    fc.nat(12),
    fc.string({ maxLength: 4 }),
  )
  .map(([text, at, length, piece]) => {
    const from = at % (text.length + 1);
    return text.slice(0, from) + piece + text.slice(from + length);
  });

/** Mostly a body of the kind that the route reads. */
export function bodyFor(method: string, path: string): fc.Arbitrary<string | Buffer | undefined> {
  const fitting = fittingBody(method, path);
  return fc.oneof(
    { weight: 120, arbitrary: fitting },
    { weight: 40, arbitrary: anyBody },
    { weight: 20, arbitrary: mutated },
    { weight: 1, arbitrary: fc.constantFrom(...OVERSIZED) },
  );
}

function fittingBody(method: string, path: string): fc.Arbitrary<string | undefined> {
  if (path.startsWith('/_emulator')) return admin;
  if (path.startsWith('/offers')) return method === 'POST' ? query : offer;
  if (/\/(?:sprocs|triggers|udfs)/.test(path)) return fc.oneof(script, query);
  if (path.includes('/docs')) return method === 'PATCH' ? patch : fc.oneof(document, batch, query);
  return fc.oneof(container, query);
}
