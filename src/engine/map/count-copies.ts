/**
 * Counts what the adoption of a target will do, before it writes anything: reads the source once, up to its end, and looks
 * each document up in the map of the target. Invariant: neither container is changed. The application writes meanwhile, so
 * the counts are those of a moment; what is done later is decided for each document by itself.
 */
import { FencedPass, type ReadPart, type Taken, type Takes } from '../../cosmos/feed/fenced-pass.ts';
import { lsnMissing } from '../../documents/page-error.ts';
import { latestVersionScan, type PageScan } from '../../documents/page-scan.ts';
import { COMPARE_TIMING } from '../../spec/timing.ts';
import type { MapTotals } from '../../state/segments/map-store.ts';
import type { RunContext } from '../context.ts';
import { VersionReader, versionPaths } from '../tail/source-version.ts';
import type { AdoptionCounts } from './adoption-counts.ts';
import { MappedDocuments } from './mapped-documents.ts';

interface CountOptions {
  readonly signal: AbortSignal;
  /** Called after each page, with the number of source documents read so far. */
  readonly onProgress: (documents: number) => void;
}

export async function countCopies(
  context: RunContext,
  { mapped, strangers }: MapTotals,
  { signal, onProgress }: CountOptions,
): Promise<AdoptionCounts> {
  const takes = new CountTakes(context);
  const pass = new FencedPass({
    side: context.sourceSide,
    takes,
    saved: [],
    clock: context.clock,
    timing: COMPARE_TIMING,
    isNewest: false,
    onPage: () => onProgress(pass.documents),
  });
  await pass.run(signal);
  const { present: same, differs: different, elsewhere: wrongSlot, unknown: missing } = takes.counts;
  // A document may have copies in several slots; all but one of them are extra.
  const extra = Math.max(0, mapped - same - different - wrongSlot);
  return { same, different, wrongSlot, missing, extra, strangers };
}

class CountTakes implements Takes {
  readonly counts = { unknown: 0, present: 0, differs: 0, elsewhere: 0 };
  readonly #context: RunContext;
  readonly #scan: PageScan;
  readonly #versions: VersionReader;
  readonly #mapped: MappedDocuments;

  constructor(context: RunContext) {
    this.#context = context;
    this.#scan = latestVersionScan(versionPaths(context.versions));
    this.#versions = new VersionReader(this.#scan, context.versions);
    this.#mapped = new MappedDocuments(context, { scan: this.#scan, rekey: this.#versions.rekey });
  }

  take(page: Buffer, { fenceLsn }: ReadPart): Taken {
    const scan = this.#scan.scan(page);
    const versions = this.#versions;
    const nowTs = this.#context.serviceTime.nowTs();
    let documents = 0;
    for (let row = 0; row < scan.count; row += 1) {
      const lsn = versions.lsn(row);
      if (lsn === null) throw lsnMissing();
      if (lsn > fenceLsn) continue;
      documents += 1;
      if (versions.rekey.read(row, nowTs) === 'moves' && !versions.isMarked(row))
        this.counts[this.#mapped.look(row)] += 1;
    }
    return { documents, isBeyond: documents < scan.count };
  }

  isFull(): boolean {
    return false;
  }

  /** The counts are not stored: an interrupted run counts again. */
  save(): void {}
}
