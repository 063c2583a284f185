/**
 * What the two feeds report, put together into the set of documents that they describe. The feed of all versions
 * must be a chain per document: a create where nothing was, and each replace and delete on the version before.
 */
import { currentText, withoutLsn } from './texts.ts';
import type { Doc, Version } from '../../../helpers/emulator/wire-container.ts';

interface Reported {
  readonly text: string;
  readonly lsn: number;
}

export interface FeedEntry {
  readonly text: string;
  readonly lsn: number;
}

/** A document's identity in a container on /pk; a missing key is another one than null. */
export function identityOf(id: string, pk: unknown): string {
  return JSON.stringify([pk === undefined ? {} : pk, id]);
}

export class Replay {
  /** By the feed of all versions. */
  readonly versions = new Map<string, Reported>();
  readonly #latest = new Map<string, Reported>();
  readonly #deletes = new Map<string, number>();
  readonly counts = { create: 0, replace: 0, delete: 0, expired: 0, latest: 0 };

  readonly onLatest = ({ text, lsn }: FeedEntry): void => {
    const { id, pk } = JSON.parse(text) as Doc;
    const identity = identityOf(id, pk);
    const before = this.#latest.get(identity);
    if (before !== undefined && before.lsn >= lsn)
      throw new Error(`${identity} came at LSN ${lsn} after ${before.lsn}`);
    this.#latest.set(identity, { text: withoutLsn(text), lsn });
    this.counts.latest += 1;
  };

  readonly onVersion = ({ text, lsn }: FeedEntry): void => {
    const { current, metadata } = JSON.parse(text) as Version;
    const { operationType, previousImageLSN = 0 } = metadata;
    const identity =
      operationType === 'delete'
        ? identityOf(metadata.id ?? '', metadata.partitionKey?.['pk'])
        : identityOf(current?.id ?? '', current?.['pk']);
    const before = this.versions.get(identity);
    if (previousImageLSN !== (before?.lsn ?? 0) || (operationType === 'create') !== (before === undefined)) {
      throw new Error(`${operationType} of ${identity} follows ${before?.lsn ?? 'nothing'}: ${text}`);
    }
    this.counts[operationType] += 1;
    if (operationType === 'delete') {
      if (metadata.timeToLiveExpired === true) this.counts.expired += 1;
      this.versions.delete(identity);
      this.#deletes.set(identity, lsn);
      return;
    }
    const shown = currentText(text);
    if (shown === undefined) throw new Error(`a ${operationType} without a document: ${text}`);
    this.versions.set(identity, { text: shown, lsn });
  };

  /** Texts by the feed of all versions. */
  replayed(): Map<string, string> {
    return new Map([...this.versions].map(([identity, { text }]) => [identity, text]));
  }

  /** Texts by the latest-version feed and the deletes of the other: all that a mover has. */
  rebuilt(): Map<string, string> {
    const texts = new Map<string, string>();
    for (const [identity, { text, lsn }] of this.#latest) {
      if (lsn >= (this.#deletes.get(identity) ?? 0)) texts.set(identity, text);
    }
    return texts;
  }
}
