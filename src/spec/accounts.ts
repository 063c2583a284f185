/**
 * Finds out which accounts a migration uses and how to sign in. Endpoints, keys and connection strings of both sides
 * become two connections. Invariant: no problem repeats a secret.
 */
import { Connection, type Connections } from './connection.ts';
import type { SecretName } from './fields.ts';
import {
  COPY_AGAIN,
  howToRemove,
  asGiven,
  sourceOf,
  waysToGive,
  Invalid,
  type Given,
} from './input/given.ts';
import type { ProblemList } from './input/problems.ts';
import { holdsSecret, readEndpoint } from './input/values.ts';

const SIDES = {
  source: { endpoint: 'sourceEndpoint', key: 'sourceKey', connectionString: 'sourceConnectionString' },
  target: { endpoint: 'targetEndpoint', key: 'targetKey', connectionString: 'targetConnectionString' },
} as const;

type Side = keyof typeof SIDES;

/** What the operator gave to reach the account of one side. */
interface GivenAccount {
  readonly endpoint: string | undefined;
  readonly key: string | undefined;
  /** The setting from which the endpoint comes; undefined when the operator named no account for this side. */
  readonly from: Given | undefined;
}

/** Returns the connections of both sides; undefined after a problem. */
export function connectionsFrom(
  problems: ProblemList,
  tls: { readonly checksCertificate: boolean },
): Connections | undefined {
  const [source, target] = [readSide('source', problems), readSide('target', problems)];
  const targetGiven = target.from !== undefined;
  if (source.from === undefined) {
    problems.report(
      '--source-endpoint',
      'no account was given',
      'the source is in an account, which is found by its URL',
      `${waysToGive('sourceEndpoint')}; or set COSMIG_SOURCE_CONNECTION_STRING`,
    );
  }
  if (source.endpoint === undefined || (targetGiven && target.endpoint === undefined)) return undefined;
  const sourceConnection = new Connection(source.endpoint, source.key, tls);
  const targetEndpoint = target.endpoint ?? source.endpoint;
  const isOneAccount = targetEndpoint === source.endpoint;
  const targetConnection =
    isOneAccount && (target.key === undefined || target.key === source.key)
      ? sourceConnection
      : new Connection(targetEndpoint, target.key, tls);
  const connections = { source: sourceConnection, target: targetConnection };
  const froms = { source: source.from, target: target.from };
  for (const side of ['source', 'target'] as const) needTls(connections[side], froms[side], side, problems);
  return connections;
}

/**
 * Reports a problem when Entra ID would have to sign in without TLS. cosmig never sends an Entra ID token without
 * TLS, not even on this machine.
 */
function needTls(connection: Connection, from: Given | undefined, side: Side, problems: ProblemList): void {
  const { key, connectionString } = SIDES[side];
  // A given key or connection string may be invalid. That has been reported already.
  const hasKey = [key, connectionString].some((name) => problems.given(name) !== undefined);
  if (
    from === undefined ||
    hasKey ||
    connection.signsInWith === 'key' ||
    connection.endpoint.startsWith('https:')
  )
    return;
  problems.report(
    sourceOf(from),
    `no key was given for ${connection.endpoint}`,
    'without a key Entra ID signs in, and its tokens are not sent over plain http',
    `${waysToGive(key)}, or use https`,
  );
}

function readSide(side: Side, problems: ProblemList): GivenAccount {
  const names = SIDES[side];
  const [endpoint, key, text] = [names.endpoint, names.key, names.connectionString].map((name) =>
    problems.given(name),
  );
  const own = endpoint === undefined ? undefined : ownEndpoint(endpoint, problems);
  const account = text === undefined ? undefined : readConnectionString(text, problems);
  if (key !== undefined && text !== undefined) {
    problems.report(
      sourceOf(key),
      `${sourceOf(key)} and ${sourceOf(text)} are both set`,
      'a connection string contains a key',
      howToRemove(key),
    );
  }
  if (
    endpoint !== undefined &&
    text !== undefined &&
    own !== undefined &&
    account !== undefined &&
    own !== account.endpoint
  ) {
    problems.report(
      sourceOf(endpoint),
      `${sourceOf(endpoint)} and ${sourceOf(text)} name different accounts`,
      `one is ${own}, the other ${account.endpoint}`,
      `${howToRemove(endpoint)}, or ${howToRemove(text)}`,
    );
  }
  const ownKey = key === undefined ? undefined : readKey(key, problems);
  return { endpoint: own ?? account?.endpoint, key: ownKey ?? account?.key, from: endpoint ?? text };
}

function ownEndpoint(given: Given, problems: ProblemList): string | undefined {
  const text = problems.single(given);
  if (text === undefined) return undefined;
  if (holdsSecret(text)) {
    // The message does not repeat the text, which may be a connection string or contain a password.
    problems.report(
      sourceOf(given),
      `${sourceOf(given)} is more than the URL of an account`,
      'it has parts that may be secret; secrets are given by variables only',
      `for example ${asGiven(given, 'https://myaccount.documents.azure.com')}`,
    );
    return undefined;
  }
  return problems.value(given, text, readEndpoint);
}

function readKey(given: Given, problems: ProblemList): string | undefined {
  const text = problems.single(given);
  return text === undefined ? undefined : problems.value(given, text, asKey);
}

function asKey(text: string): string | Invalid {
  const isBase64 = text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text);
  if (isBase64) return text;
  return new Invalid(
    /AccountKey\s*=/i.test(text)
      ? 'it is a connection string, which has a variable of its own'
      : 'an account key is base64, and this is not',
  );
}

interface ConnectionString {
  readonly endpoint: string;
  readonly key: string;
}

function readConnectionString(given: Given, problems: ProblemList): ConnectionString | undefined {
  const text = problems.single(given);
  if (text === undefined) return undefined;
  const parts = partsOf(text);
  const [endpoint, key] = [parts.get('accountendpoint'), parts.get('accountkey')];
  const read = endpoint === undefined || holdsSecret(endpoint) ? undefined : readEndpoint(endpoint);
  const whole = key === undefined ? undefined : asKey(key);
  if (typeof read === 'string' && typeof whole === 'string') return { endpoint: read, key: whole };
  const why =
    endpoint === undefined || key === undefined
      ? `it has no ${endpoint === undefined ? 'AccountEndpoint' : 'AccountKey'}`
      : read instanceof Invalid
        ? `its AccountEndpoint is not valid: ${read.why}`
        : whole instanceof Invalid
          ? `its AccountKey is not valid: ${whole.why}`
          : 'its AccountEndpoint is more than a URL';
  problems.report(sourceOf(given), `${sourceOf(given)} is not valid`, why, COPY_AGAIN);
  return undefined;
}

/**
 * Returns the parts of a connection string, `AccountEndpoint=...;AccountKey=...;`, in any order and case. Other parts
 * are ignored, as by the SDK.
 */
function partsOf(text: string): Map<string, string> {
  return new Map(
    text.split(';').flatMap((part) => {
      const at = part.indexOf('=');
      return at < 1 ? [] : [[part.slice(0, at).trim().toLowerCase(), part.slice(at + 1).trim()] as const];
    }),
  );
}

/** Returns the secrets in the value of a setting, which no message may contain. */
export function secretsOf(name: SecretName, text: string): readonly string[] {
  const key = partsOf(text).get('accountkey');
  return name.endsWith('ConnectionString') ? [text, ...(key === undefined ? [] : [key])] : [text];
}
