/**
 * A request that the account refuses. Handlers throw a Refusal. The dispatcher answers with the JSON error body that
 * every Cosmos SDK expects (`code` and `message`), and sends the substatus and the retry delay as headers.
 */
interface RefusalParts {
  readonly substatus?: number | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly chargeRu?: number;
  /** More members of the error body, alongside `code` and `message`. */
  readonly body?: Readonly<Record<string, unknown>>;
}

export class Refusal extends Error {
  readonly status: number;
  readonly substatus: number;
  readonly retryAfterMs: number | undefined;
  readonly chargeRu: number | undefined;
  readonly body: Readonly<Record<string, unknown>>;

  constructor(status: number, message: string, parts: RefusalParts = {}) {
    super(message);
    this.name = 'Refusal';
    this.status = status;
    this.substatus = parts.substatus ?? 0;
    this.retryAfterMs = parts.retryAfterMs;
    this.chargeRu = parts.chargeRu;
    this.body = parts.body ?? {};
  }
}

/** Returns the refusal of a request that breaks a rule of the service. */
export function badRequest(message: string, parts?: RefusalParts): Refusal {
  return new Refusal(400, message, parts);
}

/** Returns the refusal of a request that has too many bytes. Some clients look for the service's words in it. */
export function tooLarge(bytesMax: number): Refusal {
  const message = `Message: {"Errors":["Request size is too large"]}. The request has more than ${bytesMax} bytes.`;
  return new Refusal(413, message, { chargeRu: 0 });
}

const NAMES: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  408: 'RequestTimeout',
  409: 'Conflict',
  410: 'Gone',
  412: 'PreconditionFailed',
  413: 'RequestEntityTooLarge',
  424: 'FailedDependency',
  429: 'TooManyRequests',
  431: 'RequestHeaderFieldsTooLarge',
  449: 'RetryWith',
  500: 'InternalServerError',
  501: 'NotImplemented',
  503: 'ServiceUnavailable',
};

/** Returns the `code` of an error body for a status. */
export function statusName(status: number): string {
  return NAMES[status] ?? `Status${status}`;
}
