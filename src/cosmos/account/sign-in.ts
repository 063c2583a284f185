/**
 * Signs in with Entra ID, with any identity that this machine has (environment, managed identity, az login and so
 * on). The package is loaded only when needed, because it is large and most runs use a key.
 */
import type { TokenCredential } from '@azure/identity';
import { Deadline, orAborted } from '../../lib/abort.ts';
import { ServiceError } from '../../lib/errors.ts';

/** An identity that has signed in. It makes tokens for the SDK. */
export type Identity = TokenCredential;

/** The scope for all accounts. In most tenants an account has no resource of its own. */
const COMMON_SCOPE = 'https://cosmos.azure.com/.default';
/** Entra ID's error code for an unknown resource. Only the message of the error contains it. */
const NO_SUCH_RESOURCE = 'AADSTS500011';
/** How long to wait for a token: some identities start another program, which may never end. */
const ANSWERS_WITHIN_MS = 60_000;

/**
 * Signs in once now, so that a refusal is reported as such and not as a failed request. The SDK asks for new tokens
 * later.
 */
export async function signIn(endpoint: string, signal: AbortSignal): Promise<Identity> {
  const { DefaultAzureCredential } = await import('@azure/identity');
  const credential = new DefaultAzureCredential();
  const own = `${new URL(endpoint).origin}/.default`;
  try {
    return await tryScope(credential, own, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!messageOf(error).includes(NO_SUCH_RESOURCE)) throw refusal(endpoint, error);
  }
  try {
    return await tryScope(credential, COMMON_SCOPE, signal);
  } catch (error) {
    signal.throwIfAborted();
    throw refusal(endpoint, error);
  }
}

/**
 * Returns the identity, limited to a scope that works. Without the limit the SDK would try its own scope before every
 * request.
 */
async function tryScope(identity: Identity, scope: string, signal: AbortSignal): Promise<Identity> {
  using deadline = new Deadline(ANSWERS_WITHIN_MS, 'an identity', signal);
  await orAborted(identity.getToken(scope, { abortSignal: deadline.signal }), deadline.signal);
  return { getToken: (_scopes, options) => identity.getToken(scope, options) };
}

function refusal(endpoint: string, error: unknown): ServiceError {
  return new ServiceError(`signing in to ${endpoint} with Entra ID failed`, {
    why: reasonOf(error),
    hint: 'run az login, or set up the environment variables or the managed identity of a service; or set the account key in COSMIG_SOURCE_KEY (COSMIG_TARGET_KEY); --verbose shows every identity that was tried',
    cause: error,
  });
}

/** Returns the reason for a failed sign-in. The refusal of an identity explains more than the absence of others. */
function reasonOf(error: unknown): string {
  const tried: readonly unknown[] =
    error instanceof Error && 'errors' in error && Array.isArray(error.errors) ? error.errors : [error];
  const refused = tried.find((one) => !(one instanceof Error && one.name === 'CredentialUnavailableError'));
  if (refused === undefined)
    return `no identity was found on this machine (${tried.length} kinds were tried)`;
  return messageOf(refused).split(/\s*[\r\n]/)[0] ?? '';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
