/**
 * The reservation: one small document in the target that says which ledger a new migration belongs to. Two copies that
 * begin at the same moment both find the target empty; only one of them can create this document, and the other is
 * refused.
 *
 * Invariant: the reservation is there before the target is found empty for the last time, and until the copy has ended.
 * A later copy finds either the reservation, or the copied documents. Only the ledger that the reservation names
 * removes it.
 */
import type { OperationReply } from '../cosmos/bulk/batch-request.ts';
import type { ContainerFacts } from '../cosmos/container/inspect.ts';
import { readRanges } from '../cosmos/feed/ranges.ts';
import { retrying } from '../cosmos/load/retry.ts';
import type { ContainerRequests } from '../cosmos/transport/container-requests.ts';
import { TroubleError } from '../cosmos/transport/trouble.ts';
import { BatchBody } from '../documents/batch-body.ts';
import { replyScan } from '../documents/page-scan.ts';
import { effectiveKey } from '../epk/effective-key.ts';
import { parsePath } from '../keys/path.ts';
import { must } from '../lib/assert.ts';
import { LedgerError } from '../lib/errors.ts';
import { memberOf } from '../lib/json/json.ts';
import type { Asking } from './occupied.ts';
import { NO_ETAG, repeatable, sendHarmless } from './permissions.ts';

/** The id of the reservation, and its value at each level of the target's partition key. */
export const RESERVATION_ID = 'cosmig-reservation';

/** How many attempts are made to create the reservation, or to read it if another ledger has created it. */
const TRIES_MAX = 10;

/** The contents of the reservation. */
export interface ReservationText {
  /** The random name of the ledger. */
  readonly ledger: string;
  /** For people: where the ledger is, where the documents come from, and when the migration began. */
  readonly path: string;
  readonly source: string;
  readonly began: string;
}

type Call = Pick<Asking, 'signal' | 'timeoutMs' | 'patience'>;

/** The reservation in the target, as it was read. */
interface Found {
  readonly text: ReservationText;
  readonly etag: string;
}

export class Reservation {
  readonly #requests: ContainerRequests;
  readonly #facts: ContainerFacts;
  readonly #key: readonly string[];
  readonly #call: Call;
  #sessionToken: string | undefined;

  constructor(requests: ContainerRequests, facts: ContainerFacts, call: Call) {
    this.#requests = requests;
    this.#facts = facts;
    this.#key = facts.keyPaths.map(() => RESERVATION_ID);
    this.#call = call;
  }

  /** Creates the reservation, unless this ledger has it already; throws if another ledger has it. */
  async take(text: ReservationText): Promise<void> {
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const { status } = await this.#send((body) => {
        body.create(this.#key);
        body.out.putText(JSON.stringify(this.#document(text)));
        body.end();
      });
      if (status === 201) return;
      const found = await this.#find();
      // If there is none, another ledger has removed its reservation between the two requests, and this one tries
      // again.
      if (found === undefined) continue;
      this.#refuseUnless(text.ledger, found);
      return;
    }
    const what = 'the reservation of the target comes and goes';
    throw new TroubleError({ kind: 'transient', status: 409, substatus: 0, what, chargeRu: 0 });
  }

  /** Returns what the reservation says; undefined if there is none. */
  async read(): Promise<ReservationText | undefined> {
    return (await this.#find())?.text;
  }

  /** Replaces the reservation of another ledger, whose migration was given up. */
  async takeOver(text: ReservationText): Promise<void> {
    const found = await this.#find();
    if (found !== undefined && found.text.ledger !== text.ledger)
      await this.#send((body) => body.delete(this.#key, { id: RESERVATION_ID, ifMatch: found.etag }));
    await this.take(text);
  }

  /** Removes the reservation if it names this ledger. */
  async release(ledger: string): Promise<void> {
    const found = await this.#find();
    if (found?.text.ledger !== ledger) return;
    await this.#send((body) => body.delete(this.#key, { id: RESERVATION_ID, ifMatch: found.etag }));
  }

  /**
   * Reads the reservation; undefined if there is none. A replica that lags would hide the reservation. So a delete that
   * must fail is sent first: the replica that accepts writes answers it, says whether there is a reservation, and
   * returns the session token for the read.
   */
  async #find(): Promise<Found | undefined> {
    const { kind: failed } = await this.#send((body) =>
      body.delete(this.#key, { id: RESERVATION_ID, ifMatch: NO_ETAG }),
    );
    if (failed === 'missing') return undefined;
    const scan = replyScan([]);
    const { kind, etag } = await this.#send((body) => body.read(this.#key, { id: RESERVATION_ID }), {
      replies: scan,
      isRead: true,
    });
    if (kind !== 'done' || etag === undefined) return undefined;
    const reservation = memberOf(JSON.parse(scan.bytes(0, scan.nodes.document).toString()), 'cosmig');
    const textAt = (name: keyof ReservationText): string => {
      const value = memberOf(reservation, name);
      return typeof value === 'string' ? value : '?';
    };
    const [ledger, path, source, began] = [
      textAt('ledger'),
      textAt('path'),
      textAt('source'),
      textAt('began'),
    ];
    return { text: { ledger, path, source, began }, etag };
  }

  /** Throws if the reservation of another ledger is in the target. */
  async refuseOther(ledger: string | undefined): Promise<void> {
    const found = await this.#find();
    if (found !== undefined) this.#refuseUnless(ledger, found);
  }

  #refuseUnless(ledger: string | undefined, { text }: Found): void {
    if (text.ledger === ledger) return;
    const { database, container } = this.#requests.name;
    throw new LedgerError(`the target ${database}/${container} belongs to a migration with another ledger`, {
      why: `that migration began at ${text.began} from ${text.source}, and its ledger is ${text.path}; two migrations into one target would undo each other's work`,
      hint: `continue that one with its ledger, or choose another target; if that one is given up, empty the target, and delete its document ${RESERVATION_ID} as well`,
      details: { ...text },
    });
  }

  #document(cosmig: ReservationText): Readonly<Record<string, unknown>> {
    // Even if the documents of the target expire, the reservation does not.
    const document: Record<string, unknown> = { id: RESERVATION_ID, cosmig, ttl: -1 };
    for (const text of this.#facts.keyPaths) {
      const path = [...parsePath(text)];
      const last = must(path.pop(), 'a path has a step');
      let parent = document;
      for (const step of path) parent = (parent[step] ??= {}) as Record<string, unknown>;
      parent[last] = RESERVATION_ID;
    }
    return document;
  }

  async #send(
    write: (body: BatchBody) => void,
    { replies = replyScan([]), isRead = false } = {},
  ): Promise<OperationReply> {
    const { signal, timeoutMs, patience } = this.#call;
    const body = new BatchBody();
    write(body);
    const bytes = body.finish();
    const epk = effectiveKey(this.#facts.keyKind, this.#key);
    const send = async (): Promise<OperationReply> => {
      const ranges = await readRanges(this.#requests, { signal, timeoutMs });
      const range = must(
        ranges.find(({ min, max }) => min <= epk && epk < max),
        'the ranges tile the key space',
      );
      const token = this.#sessionToken;
      const session = token === undefined ? {} : { sessionToken: token };
      const reads = (): boolean => isRead;
      const batch = { rangeId: range.id, body: bytes, count: 1, reads, signal, timeoutMs, ...session };
      const result = await sendHarmless(this.#requests, batch, replies);
      this.#sessionToken = result.sessionToken;
      const outcome = must(result.outcomes[0], 'the reply has one outcome');
      const { kind, status, substatus, chargeRu } = outcome;
      if (kind === 'done' || kind === 'missing' || kind === 'conflict') return outcome;
      const what = `the service answered ${status} to the reservation`;
      throw new TroubleError(repeatable({ kind, status, substatus, what, chargeRu }));
    };
    return retrying(send, { signal, patience: patience.fresh(), splits: 'waited-for' });
  }
}
