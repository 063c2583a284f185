/**
 * Which accounts, and how to sign in to them: endpoints, keys and connection strings of both sides become two
 * connections, or complaints that repeat no secret.
 */
import { Connection, type Connections } from './connection.ts';
import type { SecretName } from './fields.ts';
import { COPY_AGAIN, drop, inPlace, sourceOf, waysToGive, Wrong, type Given } from './input.ts';
import type { Findings } from './problems.ts';
import { holdsSecret, readEndpoint } from './values.ts';

const SIDES = {
  source: { endpoint: 'sourceEndpoint', key: 'sourceKey', connectionString: 'sourceConnectionString' },
  target: { endpoint: 'targetEndpoint', key: 'targetKey', connectionString: 'targetConnectionString' },
} as const;

type Side = keyof typeof SIDES;

/** What one side says about its account. */
interface Said {
  readonly endpoint: string | undefined;
  readonly key: string | undefined;
  /** Where the endpoint was told; undefined when it was not. */
  readonly from: Given | undefined;
}

/** Both connections; undefined after a complaint. */
export function connectionsFrom(findings: Findings): Connections | undefined {
  const [source, target] = [readSide('source', findings), readSide('target', findings)];
  const targetGiven = target.from !== undefined;
  if (source.from === undefined) {
    findings.report(
      '--source-endpoint',
      'no account was given',
      'cosmig must know where the source is',
      `${waysToGive('sourceEndpoint')}; or set COSMIG_SOURCE_CONNECTION_STRING`,
    );
  }
  if (source.endpoint === undefined || (targetGiven && target.endpoint === undefined)) return undefined;
  const sourceConnection = new Connection(source.endpoint, source.key);
  const targetEndpoint = target.endpoint ?? source.endpoint;
  const isOneAccount = targetEndpoint === source.endpoint;
  const targetConnection =
    isOneAccount && (target.key === undefined || target.key === source.key)
      ? sourceConnection
      : new Connection(targetEndpoint, target.key);
  const connections = { source: sourceConnection, target: targetConnection };
  const froms = { source: source.from, target: target.from };
  for (const side of ['source', 'target'] as const) needTls(connections[side], froms[side], side, findings);
  return connections;
}

/** Tokens of Entra ID are not sent without TLS, not even on this machine. */
function needTls(connection: Connection, from: Given | undefined, side: Side, findings: Findings): void {
  const { key, connectionString } = SIDES[side];
  // One that could not be read has been complained about.
  const hasKey = [key, connectionString].some((name) => findings.given(name) !== undefined);
  if (
    from === undefined ||
    hasKey ||
    connection.signsInWith === 'key' ||
    connection.endpoint.startsWith('https:')
  )
    return;
  findings.report(
    sourceOf(from),
    `no key was given for ${connection.endpoint}`,
    'without a key Entra ID signs in, and its tokens are not sent over plain http',
    `${waysToGive(key)}, or use https`,
  );
}

function readSide(side: Side, findings: Findings): Said {
  const names = SIDES[side];
  const [endpoint, key, text] = [names.endpoint, names.key, names.connectionString].map((name) =>
    findings.given(name),
  );
  const own = endpoint === undefined ? undefined : ownEndpoint(endpoint, findings);
  const account = text === undefined ? undefined : readConnectionString(text, findings);
  if (key !== undefined && text !== undefined) {
    findings.report(
      sourceOf(key),
      `${sourceOf(key)} and ${sourceOf(text)} are both set`,
      'a connection string has a key of its own',
      drop(key),
    );
  }
  if (
    endpoint !== undefined &&
    text !== undefined &&
    own !== undefined &&
    account !== undefined &&
    own !== account.endpoint
  ) {
    findings.report(
      sourceOf(endpoint),
      `${sourceOf(endpoint)} and ${sourceOf(text)} name different accounts`,
      `one is ${own}, the other ${account.endpoint}`,
      `${drop(endpoint)}, or ${drop(text)}`,
    );
  }
  const ownKey = key === undefined ? undefined : readKey(key, findings);
  return { endpoint: own ?? account?.endpoint, key: ownKey ?? account?.key, from: endpoint ?? text };
}

function ownEndpoint(given: Given, findings: Findings): string | undefined {
  const text = findings.single(given);
  if (text === undefined) return undefined;
  if (holdsSecret(text)) {
    // Not repeated: somebody took it for the place of a connection string, or has a password in it.
    findings.report(
      sourceOf(given),
      `${sourceOf(given)} is more than the URL of an account`,
      'it has parts that may be secret, and those are given by variables only',
      `write for instance ${inPlace(given, 'https://myaccount.documents.azure.com')}`,
    );
    return undefined;
  }
  return findings.value(given, text, readEndpoint);
}

function readKey(given: Given, findings: Findings): string | undefined {
  const text = findings.single(given);
  return text === undefined ? undefined : findings.value(given, text, asKey);
}

function asKey(text: string): string | Wrong {
  const isBase64 = text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text);
  if (isBase64) return text;
  return new Wrong(
    /AccountKey\s*=/i.test(text)
      ? 'it is a connection string; that has a variable of its own'
      : 'an account key is base64, and this is not',
  );
}

interface ConnectionString {
  readonly endpoint: string;
  readonly key: string;
}

function readConnectionString(given: Given, findings: Findings): ConnectionString | undefined {
  const text = findings.single(given);
  if (text === undefined) return undefined;
  const parts = partsOf(text);
  const [endpoint, key] = [parts.get('accountendpoint'), parts.get('accountkey')];
  const read = endpoint === undefined || holdsSecret(endpoint) ? undefined : readEndpoint(endpoint);
  const whole = key === undefined ? undefined : asKey(key);
  if (typeof read === 'string' && typeof whole === 'string') return { endpoint: read, key: whole };
  const why =
    endpoint === undefined || key === undefined
      ? `it has no ${endpoint === undefined ? 'AccountEndpoint' : 'AccountKey'}`
      : read instanceof Wrong
        ? `of its AccountEndpoint: ${read.why}`
        : whole instanceof Wrong
          ? `of its AccountKey: ${whole.why}`
          : 'its AccountEndpoint is more than a URL';
  findings.report(sourceOf(given), `${sourceOf(given)} is not possible`, why, COPY_AGAIN);
  return undefined;
}

/** `AccountEndpoint=...;AccountKey=...;`, in any order and case; what else it has is passed over, as the SDK does. */
function partsOf(text: string): Map<string, string> {
  return new Map(
    text.split(';').flatMap((part) => {
      const at = part.indexOf('=');
      return at < 1 ? [] : [[part.slice(0, at).trim().toLowerCase(), part.slice(at + 1).trim()] as const];
    }),
  );
}

/** The secret texts among what was given, to be kept out of every complaint. */
export function secretsOf(name: SecretName, text: string): readonly string[] {
  const key = partsOf(text).get('accountkey');
  return name.endsWith('ConnectionString') ? [text, ...(key === undefined ? [] : [key])] : [text];
}
