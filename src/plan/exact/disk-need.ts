/** How much disk `--exact` needs, before it begins. */
import { NotReadyError } from '../../lib/errors.ts';
import { formatCount } from '../../lib/counting.ts';
import { freeBytesFor, gigabytes } from '../../lib/sqlite/disk.ts';

/** Refuses a pass whose file does not fit on its disk; returns a sentence that says how large the file gets. */
export function refuseSmallDisk(
  path: string,
  { documents, bytesEach }: { readonly documents: number | null; readonly bytesEach: number },
): string {
  const freeBytes = freeBytesFor(path);
  const each = `--exact keeps ${bytesEach} bytes of each document in ${path}`;
  const free = `${gigabytes(freeBytes)} are free on its disk`;
  if (documents === null) return `${each}; ${free}`;
  const needed = documents * bytesEach;
  if (needed < freeBytes) return `${each}, about ${gigabytes(needed)}; ${free}`;
  throw new NotReadyError('the disk is too small for --exact', {
    why: `${path} gets about ${gigabytes(needed)} (${formatCount(documents)} documents), and ${free}`,
    hint: 'free some disk space, choose a --ledger on another disk, or run the same command without --exact',
  });
}
