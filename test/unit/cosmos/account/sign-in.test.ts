/** Signing in, with Microsoft's package in the hands of the test: what it does on a real machine is its own affair. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ServiceError } from '../../../../src/lib/errors.ts';
import { connect } from '../../../../src/cosmos/account/client.ts';
import { Connection } from '../../../../src/spec/connection.ts';
import { KEY } from '../../spec/loading.ts';
import { inspect } from 'node:util';

const ENDPOINT = 'https://acme.documents.azure.com/';
const OWN = 'https://acme.documents.azure.com/.default';
const COMMON = 'https://cosmos.azure.com/.default';

let loaded = 0;
let asked: string[] = [];
let isSilent = false;
/** What asking for a scope ends with: a token, or an error. */
let answers: Record<string, Error | undefined> = {};

class FakeCredential {
  async getToken(scope: string): Promise<{ token: string; expiresOnTimestamp: number }> {
    asked.push(scope);
    if (isSilent) return new Promise(() => {});
    const answer = answers[scope];
    if (answer !== undefined) throw answer;
    return { token: `token for ${scope}`, expiresOnTimestamp: 0 };
  }
}

beforeEach(() => {
  [loaded, asked, answers, isSilent] = [0, [], {}, false];
  vi.resetModules();
  vi.doMock('@azure/identity', () => {
    loaded += 1;
    return { DefaultAzureCredential: FakeCredential };
  });
});
afterEach(() => vi.doUnmock('@azure/identity'));

const signal = new AbortController().signal;

async function signIn(): Promise<{ getToken: (scopes: string) => Promise<unknown> }> {
  const module = await import('../../../../src/cosmos/account/sign-in.ts');
  return module.signIn(ENDPOINT, signal);
}

/** A new class would not be the one that a test knows, since modules are loaded again. */
async function refusal(): Promise<ServiceError> {
  const error: unknown = await signIn().catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'service', exitCode: 6 });
  return error as ServiceError;
}

function named(name: string, message: string, errors?: Error[]): Error {
  return Object.assign(new Error(message), { name }, errors === undefined ? {} : { errors });
}

describe('Entra ID', () => {
  test('an identity that never answers -> an error after a minute', async () => {
    isSilent = true;
    vi.useFakeTimers();
    try {
      const refused = refusal();
      await vi.waitFor(() => expect(asked).toHaveLength(1));
      await vi.advanceTimersByTimeAsync(60_000);
      expect(await refused).toMatchObject({ why: 'an identity took longer than 60000 ms' });
    } finally {
      vi.useRealTimers();
    }
  });

  test('an account with a resource of its own -> a token for it', async () => {
    const identity = await signIn();
    expect(await identity.getToken('whatever the SDK asks')).toMatchObject({ token: `token for ${OWN}` });
    expect(asked).toEqual([OWN, OWN]);
  });

  test('an account without a resource -> a token for all accounts', async () => {
    answers[OWN] = named('AuthenticationError', 'AADSTS500011: the resource principal was not found');
    const identity = await signIn();
    expect(await identity.getToken(OWN)).toMatchObject({ token: `token for ${COMMON}` });
    expect(asked).toEqual([OWN, COMMON, COMMON]);
  });

  test('no identity -> refused, with what to do', async () => {
    const none = ['EnvironmentCredential is unavailable.', 'Azure CLI could not be found.'].map((message) =>
      named('CredentialUnavailableError', message),
    );
    answers[OWN] = named('AggregateAuthenticationError', 'ChainedTokenCredential failed\nand so on', none);
    const { message, why, hint, cause } = await refusal();
    expect({ message, why, hint }).toEqual({
      message: `signing in to ${ENDPOINT} with Entra ID failed`,
      why: 'no identity was found on this machine (2 kinds were tried)',
      hint: 'run az login, or set up the environment variables or the managed identity of a service; or set the account key in COSMIG_SOURCE_KEY (COSMIG_TARGET_KEY); --verbose shows every identity that was tried',
    });
    expect(cause).toBe(answers[OWN]);
  });

  test('an identity that was refused -> its refusal is reported, not the absence of the others', async () => {
    answers[OWN] = named('AggregateAuthenticationError', 'ChainedTokenCredential failed', [
      named('CredentialUnavailableError', 'EnvironmentCredential is unavailable.'),
      named('AuthenticationError', 'AADSTS7000215: Invalid client secret provided.\n Trace ID: 1'),
    ]);
    expect((await refusal()).why).toBe('AADSTS7000215: Invalid client secret provided.');
  });

  test('refused for all accounts as well -> refused', async () => {
    answers[OWN] = named('AuthenticationError', 'AADSTS500011: no such resource');
    answers[COMMON] = named('AuthenticationError', 'AADSTS53003: blocked by Conditional Access');
    expect((await refusal()).why).toBe('AADSTS53003: blocked by Conditional Access');
  });

  test('the operator stops -> ends with that reason', async () => {
    const { signIn: freshSignIn } = await import('../../../../src/cosmos/account/sign-in.ts');
    const reason = new Error('stopped');
    answers[OWN] = named('AbortError', 'The operation was aborted.');
    await expect(freshSignIn(ENDPOINT, AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});

describe('connecting', () => {
  test('with a key -> the identity package is not loaded, and the key is not shown', async () => {
    using account = await connect(new Connection(ENDPOINT, KEY), { signal });
    expect(loaded).toBe(0);
    expect(inspect(account, { depth: 9 })).toBe(`Account { ${ENDPOINT} }`);
    expect(JSON.stringify(account)).toBe(`{"endpoint":"${ENDPOINT}"}`);
  });

  test('without a key -> the identity package is loaded once', async () => {
    const { connect: freshConnect } = await import('../../../../src/cosmos/account/client.ts');
    using _account = await freshConnect(new Connection(ENDPOINT, undefined), { signal });
    expect({ loaded, asked }).toEqual({ loaded: 1, asked: [OWN] });
  });

  test('plain http to another machine -> an internal error', async () => {
    const { Agent } = await import('node:http');
    using agent = disposable(new Agent());
    const connection = new Connection('http://acme.example/', KEY);
    await expect(connect(connection, { signal, agent: agent.value })).rejects.toThrow(
      'for loopback addresses only',
    );
  });
});

function disposable<T extends { destroy(): void }>(value: T): { value: T } & Disposable {
  return { value, [Symbol.dispose]: () => value.destroy() };
}
