/**
 * Signing in with Entra ID: whatever identity this machine has (environment, managed identity, az login and so on).
 * The package is loaded here and only when it is needed: it is large, and most runs have a key.
 */
import type { TokenCredential } from '@azure/identity';
import { ServiceError } from '../../lib/errors.ts';

/** Who has signed in; makes tokens for the SDK. */
export type Identity = TokenCredential;

/** Accounts in most tenants have no resource of their own; this one stands for all of them. */
const COMMON_SCOPE = 'https://cosmos.azure.com/.default';
/** Entra ID's name for "there is no such resource". A code, and the only place it is told in is the message. */
const NO_SUCH_RESOURCE = 'AADSTS500011';

/** Signs in once, so that a refusal is told now and as what it is. The SDK asks again when a token runs out. */
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

/** The identity, bound to the scope that worked: the SDK would ask for its first choice before every request. */
async function tryScope(identity: Identity, scope: string, signal: AbortSignal): Promise<Identity> {
  await identity.getToken(scope, { abortSignal: signal });
  return { getToken: (_scopes, options) => identity.getToken(scope, options) };
}

function refusal(endpoint: string, error: unknown): ServiceError {
  return new ServiceError(`signing in to ${endpoint} with Entra ID failed`, {
    why: reasonOf(error),
    hint: 'run az login, or set the variables or the managed identity of a service; or give the account key by COSMIG_SOURCE_KEY (COSMIG_TARGET_KEY); --verbose shows every way that was tried',
    cause: error,
  });
}

/** An identity that was turned away says more than all those that are not there. */
function reasonOf(error: unknown): string {
  const tried: readonly unknown[] =
    error instanceof Error && 'errors' in error && Array.isArray(error.errors) ? error.errors : [error];
  const told = tried.find((one) => !(one instanceof Error && one.name === 'CredentialUnavailableError'));
  if (told === undefined) return `no identity was found on this machine (${tried.length} ways were tried)`;
  return messageOf(told).split(/\s*[\r\n]/)[0] ?? '';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
