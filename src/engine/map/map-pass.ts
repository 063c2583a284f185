/**
 * Maps a target that this ledger has not filled: reads each of its documents once, rebuilds the identity of its original,
 * and stores identity, slot and content hash in the ledger. Then the engine knows the slot of each document as if it had
 * copied them itself. Invariant: nothing is written to either container; what was read is stored with its position, so an
 * interrupted map resumes, and memory does not grow with the number of documents.
 *
 *   fence of every range -> pages up to the fence -> segments of index 0 -> the index over them
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { FencedPass, type ReadPart, type Takes } from '../../cosmos/feed/fenced-pass.ts';
import { COMPARE_TIMING } from '../../spec/timing.ts';
import type { FinishedSegment } from '../../state/segments/segment.ts';
import { MAP_INDEX, type MapTotals } from '../../state/segments/map-store.ts';
import type { RunContext } from '../context.ts';
import { MapRows } from './map-rows.ts';

/** How many bytes of segments are kept in memory before a checkpoint writes them. */
const SEGMENTS_BYTES_MAX = 2 * 1024 * 1024;

interface MapOptions {
  /** Aborted when no more pages may be read. */
  readonly signal: AbortSignal;
  /** Called after each page, with the number of documents read so far. */
  readonly onProgress: (documents: number) => void;
}

/**
 * Maps the target, or completes an interrupted map. Returns at once if the map is complete. Durable when the promise
 * resolves.
 */
export async function mapTarget(context: RunContext, { signal, onProgress }: MapOptions): Promise<MapTotals> {
  const { ledger, targetSide, clock, points } = context;
  const { map } = ledger;
  const saved = map.parts();
  if (saved.length === 0 || saved.some(({ isDone }) => !isDone)) {
    const pass = new FencedPass({
      side: targetSide,
      takes: new MapTakes(context),
      saved,
      clock,
      timing: COMPARE_TIMING,
      isNewest: true,
      onPage: () => {
        points.reach('map-page');
        onProgress(pass.documents);
      },
    });
    await pass.run(signal);
  }
  await buildMapIndex(context, signal);
  return map.totals();
}

/** Builds the index over the map, in small steps with time for other work in between. A crash loses one step. */
async function buildMapIndex({ ledger, points }: RunContext, signal: AbortSignal): Promise<void> {
  if (ledger.isIndexed(MAP_INDEX)) return;
  const build = ledger.buildIndex(MAP_INDEX);
  while (build.step()) {
    points.reach('index-step');
    await nextTurn();
    signal.throwIfAborted();
  }
}

/** Collects segments until a checkpoint stores them. */
class MapTakes implements Takes {
  readonly #ledger: RunContext['ledger'];
  readonly #rows: MapRows;
  readonly #hasCopyEtags: boolean;
  #segments: FinishedSegment[] = [];
  #sizeBytes = 0;
  #mapped = 0;
  #strangers = 0;
  #owning = 0;

  constructor(context: RunContext) {
    this.#ledger = context.ledger;
    // In a turn every document has come from the other side. In an adopted target a document that lacks the source key is
    // left out, unless no document of the source has one.
    const isAdopted = context.ledger.journal.adoption() !== null;
    const requiresSourceKey = isAdopted && !context.sourceSide.facts.hasSystemKey;
    this.#hasCopyEtags = context.spec.turn !== undefined;
    this.#rows = new MapRows(context, { requiresSourceKey, hasCopyEtags: this.#hasCopyEtags });
  }

  take(page: Buffer, { fenceLsn }: ReadPart): { readonly documents: number; readonly isBeyond: boolean } {
    const { documents, isBeyond, mapped, strangers, owning, segments } = this.#rows.read(page, fenceLsn);
    for (const segment of segments) {
      this.#segments.push(segment);
      this.#sizeBytes += segment.data.length;
    }
    this.#mapped += mapped;
    this.#strangers += strangers;
    this.#owning += owning;
    return { documents, isBeyond };
  }

  isFull(): boolean {
    return this.#sizeBytes >= SEGMENTS_BYTES_MAX;
  }

  save(parts: readonly ReadPart[]): void {
    const [segments, mapped, strangers] = [this.#segments, this.#mapped, this.#strangers];
    const [hasCopyEtags, owning] = [this.#hasCopyEtags, this.#owning];
    this.#ledger.map.checkpoint({ parts, segments, mapped, strangers, hasCopyEtags, owning });
    this.#segments = [];
    this.#sizeBytes = this.#mapped = this.#strangers = this.#owning = 0;
  }
}
