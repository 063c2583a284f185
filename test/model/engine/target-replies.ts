/** Owns a batch of the engine at the target of the model: conditional writes, reads from a replica that may lag. */
import type { Lag, Slot } from '../source.ts';
import type { Target, Write } from '../target.ts';
import type { Answer } from './memory-service.ts';
import { copyIn, etagNumber, lsnIn, sessionToken, targetEtag, type Json } from './wire.ts';

const RANGE = '0';

/** The target, with the documents behind its copies and a watch that sees each write before it lands. */
export interface TargetSide {
  readonly model: Target;
  /** The documents of the copies, by etag. */
  readonly documents: Map<number, Json>;
  readonly watch: (write: Write) => void;
}

const STATUS = { create: 201, replace: 200, upsert: 200, delete: 204 } as const;
const REFUSED = { conflict: 409, missing: 404, precondition: 412 } as const;

interface Operation {
  readonly name: string;
  readonly slot: Slot;
  /** Null for a read. */
  readonly write: Write | null;
  readonly document: Json | undefined;
}

export class TargetBatch {
  readonly #side: TargetSide;
  readonly #operations: readonly Operation[];
  readonly #token: string | undefined;

  constructor(side: TargetSide, operations: readonly Json[], token: string | undefined) {
    this.#side = side;
    this.#operations = operations.map(parse);
    this.#token = token;
  }

  get name(): string {
    return this.#operations.map(({ name }) => name).join(' + ');
  }

  get writes(): boolean {
    return this.#operations.some(({ write }) => write !== null);
  }

  /** The writes, each of which may land by itself when the client has given up. */
  each(): { readonly name: string; readonly land: () => void }[] {
    return this.#operations
      .filter(({ write }) => write !== null)
      .map((one) => ({ name: one.name, land: () => void this.#carryOut(one) }));
  }

  /**
   * A batch with a write is answered by the primary; one of reads by a replica that its session permits. One that is cut
   * is not carried out to its end.
   */
  answer(lag: Lag, isCut = false): Answer {
    const { model } = this.#side;
    const floor = Math.min(lsnIn(this.#token, [RANGE]), model.lsn);
    const lagging = lag === 0 ? model.lsn : lag === 1 ? Math.max(floor, model.lsn - 1) : floor;
    const at = this.writes ? null : lagging;
    const operations = isCut ? this.#operations.slice(0, -1) : this.#operations;
    const body = operations.map((one) => (one.write === null ? this.#read(one, at) : this.#carryOut(one)));
    return { status: 200, headers: { 'x-ms-session-token': sessionToken(RANGE, at ?? model.lsn) }, body };
  }

  #read({ slot }: Operation, at: number | null): Json {
    const { model, documents } = this.#side;
    const copy = model.at(at ?? model.lsn).get(slot);
    if (copy === undefined) return { statusCode: 404 };
    const eTag = targetEtag(copy.etag);
    return { statusCode: 200, eTag, resourceBody: { ...documents.get(copy.etag), _etag: eTag } };
  }

  #carryOut({ write, document }: Operation): Json {
    const { model, documents, watch } = this.#side;
    if (write === null) return {};
    watch(write);
    // The service is asked for more than it can hold.
    if (document?.['big'] === true) return { statusCode: 413 };
    const status = model.apply(write);
    if (status !== 'ok') return { statusCode: REFUSED[status] };
    const etag = model.now.get(write.slot)?.etag;
    if (etag !== undefined && document !== undefined) documents.set(etag, document);
    return { statusCode: STATUS[write.kind] };
  }
}

const NO_ETAG = -1;

function parse(operation: Json): Operation {
  const { operationType, partitionKey, resourceBody } = operation;
  const kind = String(operationType).toLowerCase();
  const document = resourceBody as Json | undefined;
  const [key] = JSON.parse(String(partitionKey)) as unknown[];
  const slot = `${String(key)}${String(document?.['id'] ?? operation['id'])}`;
  if (kind === 'read') return { name: `read ${slot}`, slot, write: null, document };
  const ifMatch = etagNumber(operation['ifMatch']);
  const { owner, content, unique } = document === undefined ? NOTHING : copyIn(document);
  const id = owner ?? '?';
  const write = { kind: kind as Write['kind'], id, slot, content, unique, ifMatch, moving: false };
  const verb = ifMatch === NO_ETAG ? 'probe' : kind;
  return { name: owner === null ? `${verb} ${slot}` : `${verb} ${id}>${slot}`, slot, write, document };
}

const NOTHING = { owner: null, content: 0, unique: 0 };
