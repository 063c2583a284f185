import { describe, expect, test } from 'vitest';
import { FIELDS } from '../../../src/spec/fields.ts';
import { ENDPOINT, KEY, load, OTHER_KEY, problems, WHOLE, type Flags, type Giving } from './loading.ts';

/** What is complained about when these flags are added to a whole spec; null takes one away. */
function wrong(
  flags: Readonly<Record<string, string | readonly string[] | null>>,
  rest: Omit<Giving, 'flags'> = {},
): unknown[] {
  const merged = Object.entries({ ...WHOLE, ...flags }).filter(([, value]) => value !== null);
  return problems({ flags: Object.fromEntries(merged) as Flags, ...rest }).map(({ message, why, hint }) => [
    message,
    why,
    hint,
  ]);
}

function right(flags: Flags, rest: Omit<Giving, 'flags'> = {}): ReturnType<typeof load> {
  return load({ flags: { ...WHOLE, ...flags }, ...rest });
}

const LOCAL = 'http://localhost:8081/';

describe('check: containers', () => {
  test('none given -> both are required', () => {
    expect(wrong({ source: null, target: null })).toEqual([
      [
        'no source was given',
        'documents are read from it',
        'give --source shop/orders, COSMIG_SOURCE or source in the config file',
      ],
      [
        'no target was given',
        'documents are written to it',
        'give --target shop/orders-by-customer, COSMIG_TARGET or target in the config file',
      ],
    ]);
  });

  test('given twice or empty -> refused', () => {
    expect(wrong({ source: ['a/b', 'a/c'], target: '' })).toEqual([
      ['--source was given more than once', 'it has one value', 'keep one of them'],
      [
        '--target has no value',
        'it needs one',
        'for example --target shop/orders-by-customer, or leave --target out',
      ],
    ]);
  });

  test('source equals target -> refused', () => {
    const same = [
      [
        'source and target are both shop/orders',
        'a container keeps its partition key, so the documents need another container',
        'name another target; cosmig copy --create-target creates it',
      ],
    ];
    expect(wrong({ target: 'shop/orders' })).toEqual(same);
    expect(wrong({ target: 'shop/orders', targetEndpoint: 'https://ACME.documents.azure.com:443/' })).toEqual(
      same,
    );
    expect(right({ target: 'shop/Orders' }).spec.target.container).toBe('Orders');
    expect(
      right({ target: 'shop/orders', targetEndpoint: 'https://other.documents.azure.com' }).spec.target
        .endpoint,
    ).toBe('https://other.documents.azure.com/');
  });
});

describe('check: accounts', () => {
  const connectionString = `AccountEndpoint=${ENDPOINT};AccountKey=${KEY};`;

  test.each<[string, Flags, Record<string, string>, string, string | undefined, string, string | undefined]>([
    ['Entra ID on both sides', {}, {}, ENDPOINT, undefined, ENDPOINT, undefined],
    ['a key for one account', {}, { COSMIG_SOURCE_KEY: KEY }, ENDPOINT, KEY, ENDPOINT, KEY],
    [
      'a connection string for one account',
      { sourceEndpoint: [] },
      { COSMIG_SOURCE_CONNECTION_STRING: connectionString },
      ENDPOINT,
      KEY,
      ENDPOINT,
      KEY,
    ],
    [
      'both, which agree',
      {},
      { COSMIG_SOURCE_CONNECTION_STRING: connectionString },
      ENDPOINT,
      KEY,
      ENDPOINT,
      KEY,
    ],
    [
      'the same account by another spelling',
      { targetEndpoint: 'https://ACME.documents.azure.com:443' },
      { COSMIG_SOURCE_KEY: KEY },
      ENDPOINT,
      KEY,
      ENDPOINT,
      KEY,
    ],
    [
      'another account with Entra ID',
      { targetEndpoint: 'https://b/' },
      { COSMIG_SOURCE_KEY: KEY },
      ENDPOINT,
      KEY,
      'https://b/',
      undefined,
    ],
    [
      'two accounts with two keys',
      { targetEndpoint: 'https://b/' },
      { COSMIG_SOURCE_KEY: KEY, COSMIG_TARGET_KEY: OTHER_KEY },
      ENDPOINT,
      KEY,
      'https://b/',
      OTHER_KEY,
    ],
    [
      'two keys of one account',
      {},
      { COSMIG_SOURCE_KEY: KEY, COSMIG_TARGET_KEY: OTHER_KEY },
      ENDPOINT,
      KEY,
      ENDPOINT,
      OTHER_KEY,
    ],
    [
      'the emulator',
      { sourceEndpoint: 'http://127.0.0.1:8081' },
      { COSMIG_SOURCE_KEY: KEY },
      'http://127.0.0.1:8081/',
      KEY,
      'http://127.0.0.1:8081/',
      KEY,
    ],
  ])(
    '%s -> its endpoint and key, for each side',
    (_case, flags, env, endpoint, key, targetEndpoint, targetKey) => {
      const { spec, connections } = right(flags, { env });
      const { source, target } = connections;
      expect([source.endpoint, source.revealKey(), target.endpoint, target.revealKey()]).toEqual([
        endpoint,
        key,
        targetEndpoint,
        targetKey,
      ]);
      expect([spec.source.endpoint, spec.target.endpoint]).toEqual([endpoint, targetEndpoint]);
    },
  );

  test('connection string: parts in any order, and others -> read', () => {
    const env = {
      COSMIG_SOURCE_CONNECTION_STRING: ` accountkey=${KEY}; DisableServerCertificateValidation=True;ACCOUNTENDPOINT=${LOCAL}`,
    };
    expect(right({ sourceEndpoint: [] }, { env }).connections.source.revealKey()).toBe(KEY);
  });

  test('an invalid key -> one problem only', () => {
    const env = { COSMIG_SOURCE_KEY: 'no key' };
    expect(wrong({ sourceEndpoint: LOCAL }, { env })).toHaveLength(1);
  });

  test('no account -> refused', () => {
    expect(wrong({ sourceEndpoint: null })).toEqual([
      [
        'no account was given',
        'the source is in an account, which is found by its URL',
        'give --source-endpoint https://myaccount.documents.azure.com, COSMIG_SOURCE_ENDPOINT or sourceEndpoint in the config file; or set COSMIG_SOURCE_CONNECTION_STRING',
      ],
    ]);
  });

  const AGAIN = 'copy it again from the portal, or from what az cosmosdb keys list prints';

  test.each<[string, Flags, Record<string, string>, unknown[]]>([
    [
      'a key and a connection string',
      {},
      { COSMIG_SOURCE_KEY: KEY, COSMIG_SOURCE_CONNECTION_STRING: connectionString },
      [
        'COSMIG_SOURCE_KEY and COSMIG_SOURCE_CONNECTION_STRING are both set',
        'a connection string contains a key',
        'unset COSMIG_SOURCE_KEY',
      ],
    ],
    [
      'an endpoint and another in the connection string',
      { sourceEndpoint: 'https://b/' },
      { COSMIG_SOURCE_CONNECTION_STRING: connectionString },
      [
        '--source-endpoint and COSMIG_SOURCE_CONNECTION_STRING name different accounts',
        `one is https://b/, the other ${ENDPOINT}`,
        'leave --source-endpoint out, or unset COSMIG_SOURCE_CONNECTION_STRING',
      ],
    ],
    [
      'a key that is none',
      {},
      { COSMIG_SOURCE_KEY: 'type=sas&x' },
      ['COSMIG_SOURCE_KEY is not valid', 'an account key is base64, and this is not', AGAIN],
    ],
    [
      'a connection string as a key',
      {},
      { COSMIG_SOURCE_KEY: connectionString },
      ['COSMIG_SOURCE_KEY is not valid', 'it is a connection string, which has a variable of its own', AGAIN],
    ],
    [
      'a connection string without a key',
      {},
      { COSMIG_SOURCE_CONNECTION_STRING: `AccountEndpoint=${ENDPOINT}` },
      ['COSMIG_SOURCE_CONNECTION_STRING is not valid', 'it has no AccountKey', AGAIN],
    ],
    [
      'a connection string without an endpoint',
      {},
      { COSMIG_TARGET_CONNECTION_STRING: `AccountKey=${KEY}` },
      ['COSMIG_TARGET_CONNECTION_STRING is not valid', 'it has no AccountEndpoint', AGAIN],
    ],
    [
      'a connection string to a strange place',
      {},
      { COSMIG_TARGET_CONNECTION_STRING: `AccountEndpoint=http://acme;AccountKey=${KEY}` },
      [
        'COSMIG_TARGET_CONNECTION_STRING is not valid',
        'its AccountEndpoint is not valid: without TLS everyone on the network path can read it: http is for this machine only',
        AGAIN,
      ],
    ],
    [
      'a connection string as an endpoint',
      { sourceEndpoint: connectionString },
      {},
      [
        '--source-endpoint is more than the URL of an account',
        'it has parts that may be secret; secrets are given by variables only',
        'for example --source-endpoint https://myaccount.documents.azure.com',
      ],
    ],
    [
      'a password in an endpoint',
      { targetEndpoint: 'https://me:pw@acme/' },
      {},
      [
        '--target-endpoint is more than the URL of an account',
        'it has parts that may be secret; secrets are given by variables only',
        'for example --target-endpoint https://myaccount.documents.azure.com',
      ],
    ],
    [
      'Entra ID without TLS',
      { sourceEndpoint: LOCAL },
      {},
      [
        `no key was given for ${LOCAL}`,
        'without a key Entra ID signs in, and its tokens are not sent over plain http',
        'set COSMIG_SOURCE_KEY, or use https',
      ],
    ],
    [
      'Entra ID without TLS on the other side',
      { targetEndpoint: LOCAL },
      {},
      [
        `no key was given for ${LOCAL}`,
        'without a key Entra ID signs in, and its tokens are not sent over plain http',
        'set COSMIG_TARGET_KEY, or use https',
      ],
    ],
  ])('%s -> refused', (_case, flags, env, expected) => {
    expect(wrong(flags, { env })).toEqual([expected]);
  });
});

describe('check: the new key', () => {
  const none = { partitionKey: null };

  test.each<[string, Flags, readonly string[]]>([
    ['one path', {}, ['/tenantId']],
    ['a nested path', { partitionKey: '/address/zip' }, ['/address/zip']],
    ['three levels', { partitionKey: ['/a', '/b', '/c/d'] }, ['/a', '/b', '/c/d']],
    ['a derived property alone', { partitionKey: [], derive: '/pk={a}-{b|month}' }, ['/pk']],
    ['a derived property with a name to quote', { partitionKey: [], derive: '/"p k"={a}' }, ['/"p k"']],
    [
      'a derived level among others',
      { partitionKey: ['/tenantId', '/pk'], derive: '/pk={id|hash:4}' },
      ['/tenantId', '/pk'],
    ],
  ])('%s -> the paths of the key', (_case, flags, paths) => {
    expect(right(flags).spec.partitionKey).toEqual(paths);
  });

  test.each<[string, Parameters<typeof wrong>[0], readonly string[]]>([
    ['none', none, ['no partition key was given']],
    [
      'several derived properties and no path',
      { ...none, derive: ['/a={x}', '/b={x}'] },
      ['no key path is given (--derive)'],
    ],
    [
      'four levels',
      { partitionKey: ['/a', '/b', '/c', '/d'] },
      ['4 key paths are too many (--partition-key)'],
    ],
    ['one level twice', { partitionKey: ['/a', '/a'] }, ['the key names /a twice (--partition-key)']],
    [
      'a path inside another',
      { partitionKey: ['/a', '/a/b'] },
      ['the key paths /a and /a/b exclude each other (--partition-key)'],
    ],
    [
      'paths that are none',
      { partitionKey: ['tenantId', '/a/'] },
      ['--partition-key tenantId is not valid', '--partition-key /a/ is not valid'],
    ],
    ['an empty path', { partitionKey: ['/a', ''] }, ['--partition-key has no value']],
    ['a system property', { partitionKey: '/_ts' }, ['/_ts cannot be a key path (--partition-key)']],
    ['a template that cannot be read', { derive: '/pk={a' }, ['--derive /pk={a is not valid']],
    ['an unknown filter', { derive: '/pk={a|mnth}' }, ['--derive /pk={a|mnth} is not valid']],
    ['a template without a path', { derive: '{a}' }, ['--derive {a} is not valid']],
    ['a derived id', { derive: '/id={a}' }, ['/id cannot be derived (--partition-key, --derive)']],
    [
      'something kept and nothing derived',
      { keepSourceKeyAs: '/old' },
      ['--keep-source-key-as has nothing to keep'],
    ],
    [
      'a path to keep that is none',
      { derive: '/pk={a}', keepSourceKeyAs: 'old' },
      ['--keep-source-key-as old is not valid'],
    ],
    [
      'the ttl, which is rewritten',
      { partitionKey: '/ttl', ttl: 'remaining' },
      ['/ttl cannot be the key while --ttl remaining rewrites it'],
    ],
    [
      'the marker of deletes',
      { derive: '/gone={a}', deletes: 'marker:/gone' },
      ['/gone cannot both be derived and mark deletes'],
    ],
  ])('%s -> refused', (_case, flags, messages) => {
    expect(wrong(flags).map((problem) => (problem as readonly string[])[0])).toEqual(messages);
  });

  test('a problem -> its position and its fix', () => {
    expect(wrong({ derive: '/pk={createdAt|mnth}' })).toEqual([
      [
        '--derive /pk={createdAt|mnth} is not valid',
        expect.stringMatching(/^there is no filter mnth, character 16$/),
        expect.stringContaining('month'),
      ],
    ]);
  });

  test('a problem in the file -> its line', () => {
    const { partitionKey: _none, ...flags } = WHOLE;
    const file = '# key\npartitionKey: [/a, /a]';
    expect(problems({ flags, file }).map(({ from, message }) => [from, message])).toEqual([
      [
        'partitionKey (cosmig.config.yaml line 2)',
        'the key names /a twice (partitionKey (cosmig.config.yaml line 2))',
      ],
    ]);
  });
});

describe('check: deletes', () => {
  test.each([
    ['auto', { kind: 'auto' }],
    ['avad', { kind: 'avad' }],
    ['reconcile', { kind: 'reconcile' }],
    ['marker:/isDeleted', { kind: 'marker', path: '/isDeleted' }],
    ['marker:/meta/deleted', { kind: 'marker', path: '/meta/deleted' }],
  ])('%s -> %j', (text, expected) => {
    expect(right({ deletes: text }).spec.deletes).toEqual(expected);
  });

  test.each(FIELDS.deletes.offered)('%s, offered by completion -> accepted', (text) => {
    const whole = text.endsWith('/') ? `${text}isDeleted` : text;
    expect(right({ deletes: whole }).spec.deletes.kind).toBe(text.split(':')[0]);
  });

  test.each([
    ['never', 'it is auto, avad, marker:/path or reconcile'],
    ['AVAD', 'it is auto, avad, marker:/path or reconcile'],
    ['marker', 'a marker needs the path of the property that marks a deleted document'],
    ['marker:', 'a marker needs the path of the property that marks a deleted document'],
    ['marker:/id', 'every document has id, so all of them would count as deleted'],
    ['marker:/_ts', 'every document has _ts, so all of them would count as deleted'],
    ['marker:isDeleted', 'the path of the marker is not valid: a path begins with a slash'],
  ])('%s -> refused', (text, why) => {
    expect(wrong({ deletes: text })).toEqual([[`--deletes ${text} is not valid`, why, expect.any(String)]]);
  });
});

describe('check: creating the target', () => {
  test.each<[Flags, unknown]>([
    [{}, { kind: 'none' }],
    [{ createTarget: 'true' }, { kind: 'as-source' }],
    [
      { createTarget: 'true', targetThroughput: '4000' },
      { kind: 'manual', ru: 4000 },
    ],
    [
      { createTarget: 'true', targetAutoscale: '10000' },
      { kind: 'autoscale', ruMax: 10_000 },
    ],
  ])('%j -> %j', (flags, expected) => {
    expect(right(flags).spec.creation).toEqual(expected);
  });

  test.each<[Flags, readonly unknown[]]>([
    [
      { createTarget: 'true', targetThroughput: '4000', targetAutoscale: '10000' },
      [
        '--target-throughput and --target-autoscale were both given',
        'a container has fixed throughput or autoscale',
        'leave --target-autoscale out, or leave --target-throughput out',
      ],
    ],
    [
      { targetThroughput: '4000' },
      [
        '--target-throughput needs --create-target',
        'cosmig does not change the throughput of an existing container',
        'add --create-target, or leave --target-throughput out',
      ],
    ],
    [
      { createTarget: 'true', targetThroughput: '450' },
      [
        '--target-throughput 450 is not valid',
        'it is a whole number of RU/s from 400 to 1000000, in steps of 100',
        'for example --target-throughput 500',
      ],
    ],
    [
      { createTarget: 'true', targetAutoscale: 'lots' },
      [
        '--target-autoscale lots is not valid',
        'it is a whole number of RU/s from 1000 to 1000000, in steps of 1000',
        'for example --target-autoscale 10000',
      ],
    ],
  ])('%j -> refused', (flags, expected) => {
    expect(wrong(flags)).toEqual([expected]);
  });
});

describe('check: the time budget', () => {
  const nowMs = Date.UTC(2026, 2, 10, 4);

  test('a duration or a time of day -> read', () => {
    expect(right({}).spec.deadline).toEqual({ kind: 'none' });
    expect(right({ for: '1h30m' }, { nowMs }).spec.deadline).toEqual({
      kind: 'within',
      atMs: nowMs + 5_400_000,
      asked: '--for 1h30m',
    });
    const { deadline } = right({ until: '05:30' }, { nowMs }).spec;
    expect(deadline).toMatchObject({
      kind: 'at',
      asked: `--until 05:30 ${new Intl.DateTimeFormat().resolvedOptions().timeZone}`,
    });
  });

  test('both -> refused', () => {
    expect(wrong({ for: '2h' }, { file: 'until: 05:30' })).toEqual([
      [
        '--for and until (cosmig.config.yaml line 1) were both given',
        'a run has one time budget',
        'leave until (cosmig.config.yaml line 1) out, or leave --for out',
      ],
    ]);
  });
});

describe('check: the ledger', () => {
  const named = (source: string, target: string): string =>
    right({ source, target }).spec.ledger.split('/').at(-1) ?? '';

  test.each([
    ['shop/orders', 'shop/orders-by-tenant', 'shop.orders--shop.orders-by-tenant.db'],
    ['a/b', 'c/d_1', 'a.b--c.d_1.db'],
  ])('%s and %s -> %s', (source, target, file) => {
    expect(named(source, target)).toBe(file);
  });

  test('any two containers -> safe and different names', () => {
    const containers = [
      'a b/c',
      'a-b/c',
      'a.b/c',
      'a/b.c',
      'a/b--c',
      '../x',
      'a:b/*',
      'é/ü',
      `a/${'x'.repeat(250)}`,
      `a/${'x'.repeat(251)}`,
    ].filter((name) => name.split('/').length === 2);
    const files = containers.map((source) => named(source, 'shop/new'));
    expect(new Set(files).size).toBe(containers.length);
    for (const file of files) {
      expect(file).toMatch(/^[A-Za-z0-9_.-]+\.db$/);
      expect(file.length).toBeLessThanOrEqual(255);
    }
  });

  test.each([
    [':memory:', 'a migration that is not kept in a file cannot be resumed'],
    ['here/', 'it names a file, and this is a folder'],
  ])('%s -> refused', (text, why) => {
    expect(wrong({ ledger: text })).toEqual([[`--ledger ${text} is not valid`, why, expect.any(String)]]);
  });
});

test('spec: loaded -> complete and frozen, down to the last list', () => {
  const { spec, connections } = right({ derive: '/pk={a}', deletes: 'marker:/x', sourceRu: '5%' });
  const frozen: boolean[] = [];
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    frozen.push(Object.isFrozen(value));
    Object.values(value).forEach(visit);
  };
  visit(spec);
  visit(connections);
  expect(frozen.length).toBeGreaterThan(8);
  expect(frozen.every(Boolean)).toBe(true);
  expect(Object.values(spec)).not.toContain(undefined);
});
