import { inspect } from 'node:util';

/** What the SDK throws, as far as tests look at it. */
export interface SdkFailure extends Error {
  readonly code?: number | string;
  readonly substatus?: number;
  readonly retryAfterInMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: { readonly code?: string; readonly message?: string };
}

/** The error a promise ends with; it is a failure of the test when there is none. */
export async function failure(work: Promise<unknown>): Promise<SdkFailure> {
  let answer: unknown;
  try {
    answer = await work;
  } catch (error) {
    if (error instanceof Error) return error;
    throw new Error('something that is not an Error was thrown', { cause: error });
  }
  throw new Error(`expected a failure, got ${inspect(answer, { depth: 1 }).slice(0, 400)}`);
}
