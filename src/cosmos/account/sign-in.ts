/**
 * Signing in with Entra ID, with any identity that this machine has (environment, managed identity, az login and so
 * on). The package is loaded only when it is needed: it is large, and most runs have a key.
 */
import type { TokenCredential } from '@azure/identity';
import { ServiceError } from '../../lib/errors.ts';

/** An identity that has signed in; makes tokens for the SDK. */
export type Identity = TokenCredential;

/** In most tenants an account has no resource of its own; this one covers all accounts. */
const COMMON_SCOPE = 'https://cosmos.azure.com/.default';
/** Entra ID's code for an unknown resource. The code stands only in the message of the error. */
const NO_SUCH_RESOURCE = 'AADSTS500011';

/** Signs in once, so that a refusal is reported at once and for what it is. The SDK asks again when a token expires. */
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

/** The identity, bound to the scope that worked: the SDK would try its own first choice before every request. */
async function tryScope(identity: Identity, scope: string, signal: AbortSignal): Promise<Identity> {
  await identity.getToken(scope, { abortSignal: signal });
  return { getToken: (_scopes, options) => identity.getToken(scope, options) };
}

function refusal(endpoint: string, error: unknown): ServiceError {
  return new ServiceError(`signing in to ${endpoint} with Entra ID failed`, {
    why: reasonOf(error),
    hint: 'run az login, or set up the environment variables or the managed identity of a service; or set the account key in COSMIG_SOURCE_KEY (COSMIG_TARGET_KEY); --verbose shows every identity that was tried',
    cause: error,
  });
}

/** The refusal of an identity explains more than the absence of the others. */
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
