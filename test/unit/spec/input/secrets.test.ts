/** Whatever way a secret comes in, and however wrong the rest is, it comes out nowhere. */
import { inspect } from 'node:util';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dissect, explain } from '../../../../src/cli/explain.ts';
import { UsageError } from '../../../../src/lib/errors.ts';
import { safeStringify } from '../../../../src/lib/json/json.ts';
import { createLog } from '../../../../src/lib/log.ts';
import { Connection } from '../../../../src/spec/connection.ts';
import { FIELD_NAMES, FIELDS, fieldOf } from '../../../../src/spec/fields.ts';
import { fingerprint, pinnedOf } from '../../../../src/spec/fingerprint.ts';
import { ENDPOINT, KEY, load, WHOLE, type Giving } from '../loading.ts';
import { VirtualClock } from '../../../helpers/clock.ts';
import { draws } from '../../../helpers/generated.ts';

const SECRET_FIELDS = FIELD_NAMES.filter((name) => FIELDS[name].type === 'secret');
const SECRET_VARIABLES = [
  'COSMIG_SOURCE_KEY',
  'COSMIG_SOURCE_CONNECTION_STRING',
  'COSMIG_TARGET_KEY',
  'COSMIG_TARGET_CONNECTION_STRING',
] as const;

/** Everything that might be printed, logged or stored after loading this. */
function tracesOf(giving: Giving): string {
  const traces: unknown[] = [];
  try {
    const { spec, connections } = load(giving);
    traces.push(spec, connections, connections.source, pinnedOf(spec), fingerprint(spec), {
      copy: Object.assign({}, connections.source),
    });
    traces.push(inspect(connections), Object.entries(connections.target), structuredClone(spec));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    traces.push(error, explain(error), dissect(error), error.stack, error.problems, error.details);
  }
  const written: string[] = [];
  const log = createLog({
    level: 'debug',
    format: 'json',
    clock: new VirtualClock(0),
    write: (line) => written.push(line),
  });
  const lines = traces.flatMap((trace) => {
    log.info('a trace', { trace });
    log.info(String(trace));
    return [
      safeStringify(trace),
      inspect(trace, { depth: 9, showHidden: true }),
      JSON.stringify(trace) ?? '',
    ];
  });
  return [...lines, ...written].join('\n');
}

/** Texts that stand for secrets: account keys, and shorter ones that no pattern would know. */
const secrets = fc.oneof(
  fc.uint8Array({ minLength: 64, maxLength: 64 }).map((bytes) => Buffer.from(bytes).toString('base64')),
  fc.uint8Array({ minLength: 9, maxLength: 15 }).map((bytes) => Buffer.from(bytes).toString('base64')),
  fc.stringMatching(/^[A-Za-z0-9!?._-]{12,24}$/).map((text) => `S3cr3t${text}`),
);

/** Ways to give a secret: where it belongs, and where it does not. */
const ROUTES: ReadonlyArray<readonly [name: string, give: (secret: string) => Giving]> = [
  ...SECRET_VARIABLES.map(
    (name) => [`${name}, plain`, (secret: string) => ({ env: { [name]: secret } })] as const,
  ),
  ...SECRET_VARIABLES.map(
    (name) =>
      [
        `${name}, with an endpoint`,
        (secret: string) => ({ env: { [name]: `AccountEndpoint=${ENDPOINT};AccountKey=${secret}` } }),
      ] as const,
  ),
  ...SECRET_VARIABLES.map(
    (name) =>
      [
        `${name}, in pieces`,
        (secret: string) => ({ env: { [name]: `AccountKey=${secret};AccountEndpoint=ftp://x` } }),
      ] as const,
  ),
  ['a slip in the name', (secret) => ({ env: { COSMIG_SOURCE_KYE: secret } })],
  ...SECRET_FIELDS.map(
    (name) =>
      [`${name} in the file`, (secret: string) => ({ file: `${name}: ${JSON.stringify(secret)}` })] as const,
  ),
  ['an unknown name in the file', (secret) => ({ file: `password: ${JSON.stringify(secret)}` })],
  ['a broken file', (secret) => ({ file: `sourceKey: "${secret}\nsource: [` })],
  ['a file with a tag', (secret) => ({ file: `sourceKey: !!secret ${JSON.stringify(secret)}` })],
  ['a file with one text', (secret) => ({ file: JSON.stringify(secret) })],
  [
    'a file with the name twice',
    (secret) => ({ file: `sourceKey: ${JSON.stringify(secret)}\nsourceKey: ${JSON.stringify(secret)}` }),
  ],
  ['broken JSON', (secret) => ({ file: `{"sourceKey": "${secret}" "x"}` })],
  [
    'an endpoint flag that is a connection string',
    (secret) => ({ flags: { sourceEndpoint: `AccountEndpoint=${ENDPOINT};AccountKey=${secret}` } }),
  ],
  [
    'an endpoint with a password',
    (secret) => ({ flags: { targetEndpoint: `https://me:${encodeURIComponent(secret)}@acme/` } }),
  ],
  [
    'an endpoint in the file',
    (secret) => ({ file: `sourceEndpoint: "AccountEndpoint=${ENDPOINT};AccountKey=${secret}"` }),
  ],
  ['an endpoint variable', (secret) => ({ env: { COSMIG_TARGET_ENDPOINT: `https://acme/?sig=${secret}` } })],
  // The same text in its right place is what gives it away in the wrong one.
  ...(
    [
      'source',
      'sourceEndpoint',
      'partitionKey',
      'derive',
      'deletes',
      'ttl',
      'ledger',
      'for',
      'config',
    ] as const
  ).map(
    (name) =>
      [
        `--${name} next to the variable`,
        (secret: string) => ({ flags: { [name]: secret }, env: { COSMIG_SOURCE_KEY: secret } }),
      ] as const,
  ),
];

describe('secrets are never repeated', () => {
  test.each(ROUTES)('%s -> in no message and no report', (_name, give) => {
    fc.assert(
      fc.property(secrets, fc.boolean(), (secret, hasMistake) => {
        const { flags = {}, ...rest } = give(secret);
        const { sourceEndpoint, ...others } = WHOLE;
        const mistake = hasMistake ? { ttl: 'never' } : {};
        const endpoint = 'env' in rest && sourceEndpoint !== undefined ? { sourceEndpoint } : {};
        const traces = tracesOf({ ...rest, flags: { ...endpoint, ...others, ...mistake, ...flags } });
        expect(traces.includes(secret)).toBe(false);
      }),
      { numRuns: draws(25) },
    );
  });
});

describe('connection', () => {
  const connection = new Connection(ENDPOINT, KEY);

  test('printed -> endpoint and sign-in only', () => {
    expect(JSON.stringify(connection)).toBe(`{"endpoint":"${ENDPOINT}","signsInWith":"key"}`);
    expect(inspect(connection)).toBe(`Connection { ${ENDPOINT} with key }`);
    expect(JSON.stringify(new Connection(ENDPOINT, undefined))).toContain('entra-id');
    expect(Object.keys(connection)).toEqual(['endpoint', 'signsInWith']);
    expect(Object.isFrozen(connection)).toBe(true);
  });

  test('revealKey -> the key', () => {
    expect(connection.revealKey()).toBe(KEY);
  });
});

test('secrets: each of the table -> tested here', () => {
  const variables = SECRET_FIELDS.map((name) => fieldOf(name).env);
  expect(new Set(variables)).toEqual(new Set(SECRET_VARIABLES));
});
