/**
 * Point reads of the source: what a document is now. What always holds: the answer is no older than anything that was
 * seen of its range, in this run or an earlier one, and reading goes at Low priority within the source's budget.
 */
import { BatchBody } from '../../documents/batch-body.ts';
import { ByteOutput } from '../../documents/byte-output.ts';
import { replyScan } from '../../documents/page-scan.ts';
import type { Clock } from '../../lib/clock.ts';
import { textOf } from '../../cosmos/bulk/batcher.ts';
import { LaneSend, type Decision, type SideOperation } from '../../cosmos/bulk/execute.ts';
import type { Side } from '../../cosmos/side.ts';
import type { Timing } from '../../spec/timing.ts';
import { versionPaths, VersionReader, type Version, type VersionParts } from '../tail/source-version.ts';
import { idOf, keyOf, placeOf, wordsOf, type SourceIdentity } from './identity.ts';
import { Writer } from '../../cosmos/bulk/dispatcher.ts';

/** What the source says of a document. */
interface SourceReply extends Decision {
  readonly version: Version | 'gone';
}

/** The feed has shown it, and the service finds nothing under its id; it must not be taken for one that is gone. */
const UNREADABLE: Version = {
  etag: '',
  slot: null,
  refusal: { reason: 'bad-id', why: 'the service does not take this id any more' },
  body: Buffer.alloc(0),
};

interface Parts extends VersionParts {
  readonly side: Side;
  readonly clock: Clock;
  readonly timing: Timing;
  /** The service's time in seconds. */
  readonly serviceTs: () => number;
  readonly seeDate: (date: string | undefined) => void;
}

export class SourceDocuments {
  /** Only reads go through it. */
  readonly writer: Writer<SourceReply>;
  readonly #side: Side;
  readonly #body = new BatchBody(new ByteOutput());

  constructor(parts: Parts) {
    const { side, clock, timing, serviceTs, seeDate } = parts;
    this.#side = side;
    const replies = replyScan(versionPaths(parts));
    const reader = new VersionReader(replies, parts);
    const lane = new LaneSend<SourceReply>({
      side,
      replies,
      timeoutMs: timing.requestTimeoutMs,
      read: ({ status, substatus }, row) => {
        const { version } = reader.read(row, serviceTs());
        return { status, substatus, version };
      },
      plain: ({ status, substatus }) => ({
        status,
        substatus,
        version: status === 400 ? UNREADABLE : 'gone',
      }),
      // What is over is decided by the time of the reply that shows it.
      seeDate,
    });
    this.writer = new Writer({
      send: async (range, batch, signal) => lane.send(range, batch, signal),
      ranges: side.ranges,
      governor: side.governor,
      clock,
      patience: side.patience,
    });
  }

  /** The document's current version. */
  async read(identity: SourceIdentity): Promise<Version | 'gone'> {
    this.#body.clear();
    this.#body.read(keyOf(identity), { id: idOf(identity) });
    const bytes = Uint8Array.prototype.slice.call(this.#body.out.view(), 1);
    return new Promise((resolve, reject) => {
      const operation: SideOperation<SourceReply> = {
        ...textOf(bytes),
        slot: wordsOf(identity.hash),
        slotAt: 0,
        place: placeOf(identity, this.#side.kind),
        reads: true,
        complete: (outcome) => {
          if (outcome.is === 'done') resolve(outcome.value.version);
          else reject(outcome.cause instanceof Error ? outcome.cause : new Error('a read was not answered'));
        },
      };
      this.writer.add(operation);
    });
  }
}
