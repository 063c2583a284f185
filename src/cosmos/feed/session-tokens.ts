/**
 * Session tokens: how far each range had come when it answered. Invariant: the LSN that was seen of a range never
 * becomes lower, and reads of a child range use what was seen of its parents.
 */

/** One range in a token: `<range>:<version>#<lsn>[#<region>=<lsn>...]` (fact SDK-4), or the older `<range>:<lsn>`. */
interface Seen {
  readonly version: number;
  readonly lsn: number;
  readonly regions: ReadonlyMap<string, number>;
}

/** Returns the LSN of the replica that sent this token; undefined if the token cannot be read. */
export function lsnOf(token: string | undefined): number | undefined {
  if (token === undefined) return undefined;
  const lsns = partsOf(token).map(([, seen]) => seen.lsn);
  return lsns.length === 0 ? undefined : Math.max(...lsns);
}

/** What was seen of every range of one container. */
export class SessionTokens {
  readonly #seen = new Map<string, Seen>();
  /** Ranges whose tokens have changed since the last call of `takeNew`. */
  readonly #new = new Set<string>();

  add(token: string | undefined): void {
    if (token === undefined) return;
    for (const [id, seen] of partsOf(token)) {
      const before = this.#seen.get(id);
      const after = before === undefined ? seen : merge(before, seen);
      if (before !== undefined && isSame(before, after)) continue;
      this.#seen.set(id, after);
      this.#new.add(id);
    }
  }

  /** Returns the token for a read of a range: what was seen of the range, joined with what was seen of its parents. */
  of(range: { readonly id: string; readonly parents: readonly string[] }): string | undefined {
    return this.#join([...range.parents, range.id]);
  }

  /** Returns a token that asks for `more` than was seen of a range, and the LSN that it asks for. */
  beyond(
    range: { readonly id: string; readonly parents: readonly string[] },
    more: number,
  ): { readonly token: string; readonly lsn: number } {
    const known = [...range.parents, range.id].map((id) => this.#seen.get(id)?.lsn ?? 0);
    const lsn = Math.max(...known) + more;
    const own = this.#seen.get(range.id) ?? { version: -1, regions: new Map<string, number>() };
    return { token: `${range.id}:${textOf({ ...own, lsn })}`, lsn };
  }

  /** Returns one token for each range that has reported something new since the last call. */
  takeNew(): ReadonlyArray<{ readonly rangeId: string; readonly token: string }> {
    const fresh = [...this.#new].flatMap((rangeId) => {
      const seen = this.#seen.get(rangeId);
      return seen === undefined ? [] : [{ rangeId, token: `${rangeId}:${textOf(seen)}` }];
    });
    this.#new.clear();
    return fresh;
  }

  #join(ids: readonly string[]): string | undefined {
    const parts = ids.flatMap((id) => {
      const seen = this.#seen.get(id);
      return seen === undefined ? [] : [`${id}:${textOf(seen)}`];
    });
    return parts.length === 0 ? undefined : parts.join(',');
  }
}

function partsOf(token: string): ReadonlyArray<readonly [id: string, seen: Seen]> {
  return token.split(',').flatMap((part) => {
    const [id = '', vector = ''] = part.trim().split(':');
    const seen = parse(vector);
    return id === '' || seen === undefined ? [] : [[id, seen] as const];
  });
}

function parse(vector: string): Seen | undefined {
  const [first = '', second, ...rest] = vector.split('#');
  const [version, lsn] = second === undefined ? [-1, Number(first)] : [Number(first), Number(second)];
  if (first === '' || second === '' || !Number.isSafeInteger(version) || !Number.isSafeInteger(lsn))
    return undefined;
  const regions = rest.map((pair) => pair.split('=')).map(([name = '', at]) => [name, Number(at)] as const);
  return { version, lsn, regions: new Map(regions.filter(([, at]) => Number.isSafeInteger(at))) };
}

function merge(one: Seen, other: Seen): Seen {
  // If the versions differ, the regions of the account have changed, and only the newer version counts.
  if (one.version !== other.version) return one.version > other.version ? one : other;
  const regions = new Map(one.regions);
  for (const [name, at] of other.regions) regions.set(name, Math.max(at, regions.get(name) ?? at));
  return { version: one.version, lsn: Math.max(one.lsn, other.lsn), regions };
}

function isSame(one: Seen, other: Seen): boolean {
  if (one.version !== other.version || one.lsn !== other.lsn) return false;
  if (one.regions.size !== other.regions.size) return false;
  return [...one.regions].every(([name, at]) => other.regions.get(name) === at);
}

function textOf({ version, lsn, regions }: Seen): string {
  return [`${version}#${lsn}`, ...[...regions].map(([name, at]) => `${name}=${at}`)].join('#');
}
