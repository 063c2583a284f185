/** Recognizes the reservation of a target among its documents: it is neither a copy nor a document of another process. */
import type { PageScan } from '../../documents/page-scan.ts';
import { decodeText, isText } from '../../documents/scalar.ts';
import { RESERVATION_ID } from '../../preflight/reservation.ts';

export function isReservation(scan: PageScan, row: number): boolean {
  const { page, nodes } = scan;
  const [start, end] = [scan.start(row, nodes.id), scan.end(row, nodes.id)];
  if (end - start !== RESERVATION_ID.length + 2 || !isText(page, start)) return false;
  return decodeText(page, start, end) === RESERVATION_ID;
}
