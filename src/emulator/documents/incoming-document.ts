/**
 * Prepares a document that a client sent: checks it by the service's rules, removes its system properties, and measures
 * it.
 *
 * Invariant: the client's text is stored. The parsed value is only inspected.
 */
import { effectiveKey, type KeyComponent } from '../../epk/effective-key.ts';
import type { LocalAccount } from '../account/account.ts';
import { extractKey, itemTtl, keyText } from '../account/container-definition.ts';
import { isObject, own, parseJson, valueAtPath, type JsonObject } from '../json/json-value.ts';
import { maxDepth, normalizeNumbers, mapNumbers, skipSpace, withoutMembers } from '../json/json-text.ts';
import type { ContainerModel } from '../account/model.ts';
import { badRequest, Refusal } from '../http/refusal.ts';
import { countTerms } from './index-terms.ts';
import type { DocumentVersion } from './write-transaction.ts';

export const DOCUMENT_BYTES_MAX = 2 * 1024 * 1024;
const DEPTH_MAX = 128;
const ID_BYTES_MAX = 1_023;
const KEY_BYTES_MAX = 2_048;

const SYSTEM_PROPERTIES: readonly string[] = ['_rid', '_self', '_etag', '_attachments', '_ts'];

export interface IncomingDocument extends DocumentVersion {
  readonly parsed: JsonObject;
}

export function checkId(id: unknown): string {
  if (typeof id !== 'string' || id === '') {
    throw badRequest(
      "The input content is invalid because the required property 'id' is missing or not a string.",
    );
  }
  if (id.includes('/') || id.includes('\\')) throw badRequest('The id must not contain / or \\.');
  if (id.length > ID_BYTES_MAX / 3 && Buffer.byteLength(id) > ID_BYTES_MAX) {
    throw badRequest(`The id has more than ${ID_BYTES_MAX} bytes.`);
  }
  return id;
}

function checkKeyLength(key: readonly KeyComponent[]): void {
  for (const value of key) {
    if (
      typeof value === 'string' &&
      value.length > KEY_BYTES_MAX / 3 &&
      Buffer.byteLength(value) > KEY_BYTES_MAX
    ) {
      throw badRequest(`The partition key value has more than ${KEY_BYTES_MAX} bytes.`);
    }
  }
}

/** Refuses a key with fewer values than the container has key paths. */
export function completeKey(container: ContainerModel, key: readonly KeyComponent[]): void {
  if (key.length !== container.definition.keyPaths.length) {
    throw badRequest('The partition key supplied has fewer values than the container has key paths.', {
      substatus: 1001,
    });
  }
}

function sameKey(left: readonly KeyComponent[], right: readonly KeyComponent[]): boolean {
  return left.length === right.length && left.every((value, level) => Object.is(value, right[level]));
}

/** Returns a key as the account stores it: unchanged, unless the deviation `integer-keys-as-text` is in force. */
export function keyAs(account: LocalAccount, key: readonly KeyComponent[]): readonly KeyComponent[] {
  if (!account.deviates('integer-keys-as-text')) return key;
  return key.map((value) => (Number.isInteger(value) ? String(value) : value));
}

function hasObjectKey({ definition }: ContainerModel, document: JsonObject): boolean {
  return definition.keyPaths.some((path) => {
    const value = valueAtPath(document, path);
    return typeof value === 'object' && value !== null;
  });
}

/**
 * Checks and measures a document. `statedKey` is the key that the request states, which must equal the key in the
 * document. `parsed` is the parsed text, if the caller has parsed it already.
 */
export function receive(
  account: LocalAccount,
  container: ContainerModel,
  text: string,
  statedKey: readonly KeyComponent[],
  parsed: unknown = parseJson(text),
): IncomingDocument {
  if (parsed === undefined) throw badRequest('The document is not valid JSON.');
  if (!isObject(parsed)) throw badRequest('The document must be a JSON object.');
  const { definition } = container;
  const id = checkId(own(parsed, 'id'));
  if (text.length > DEPTH_MAX && maxDepth(text) > DEPTH_MAX) {
    throw badRequest(`The document is nested more than ${DEPTH_MAX} levels deep.`);
  }
  const keyValues = keyAs(account, extractKey(definition, parsed));
  if (account.deviates('object-keys-refused') && hasObjectKey(container, parsed))
    throw badRequest('A partition key value must not be an object or an array.');
  completeKey(container, statedKey);
  if (!sameKey(keyValues, statedKey)) {
    throw badRequest(
      "Partition key provided either doesn't correspond to definition in the collection or doesn't match partition key " +
        'field values specified in the document.',
      { substatus: 1001 },
    );
  }
  checkKeyLength(keyValues);
  const hasSystemProperty = SYSTEM_PROPERTIES.some((name) => Object.hasOwn(parsed, name));
  let clean = hasSystemProperty ? withoutMembers(text, new Set(SYSTEM_PROPERTIES)) : text;
  if (account.settings.numbers === 'service') clean = normalizeNumbers(clean);
  if (account.deviates('rounded-integers'))
    clean = mapNumbers(clean, (text) => (/^-?\d{16,}$/.test(text) ? String(Number(text)) : text));
  if (account.deviates('rounded-fractions'))
    clean = mapNumbers(clean, (text) =>
      text.includes('.') ? String(Number(Number(text).toFixed(6))) : text,
    );
  const openText = clean.slice(skipSpace(clean, 0), clean.lastIndexOf('}'));
  const bytes = Buffer.byteLength(openText) + 1;
  if (bytes > DOCUMENT_BYTES_MAX) {
    throw new Refusal(413, `The document has ${bytes} bytes, more than ${DOCUMENT_BYTES_MAX}.`, {
      chargeRu: 0,
    });
  }
  return {
    parsed,
    id,
    epk: effectiveKey(definition.kind, keyValues),
    key: keyText(keyValues),
    openText,
    bytes,
    terms: countTerms(parsed, definition.indexing),
    ttl: itemTtl(parsed),
  };
}
