/** Counts the answered requests by operation and status, for `GET /_emulator/state`. */
export class RequestCounts {
  readonly #counts = new Map<string, Map<string, number>>();
  #total = 0;

  add(operation: string, status: number, substatus: number): void {
    let byStatus = this.#counts.get(operation);
    if (byStatus === undefined) this.#counts.set(operation, (byStatus = new Map<string, number>()));
    const name = substatus === 0 ? String(status) : `${status}/${substatus}`;
    byStatus.set(name, (byStatus.get(name) ?? 0) + 1);
    this.#total += 1;
  }

  snapshot(): { total: number; byOperation: Record<string, Record<string, number>> } {
    const byOperation: Record<string, Record<string, number>> = {};
    for (const [operation, byStatus] of this.#counts) byOperation[operation] = Object.fromEntries(byStatus);
    return { total: this.#total, byOperation };
  }
}
