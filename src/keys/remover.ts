/**
 * Plans the edits that take derived properties out of a document. Invariant: the members that stay keep their bytes and
 * their order, and an object is taken out with its last member only if it lies above a property that is derived. What a
 * document had of its own before anything was derived stays.
 */
import { assert, must } from '../lib/assert.ts';
import { decodeScalar, isComposite, type Scalar } from '../documents/scalar.ts';
import { decimalOf } from '../documents/canonical.ts';
import type { PageScan } from '../documents/page-scan.ts';
import type { Edits } from '../documents/splice.ts';
import type { Path } from './strategies/strategy.ts';

/**
 * What happens to a property: `remove` takes it out if it has the given value; `remove-copy` takes it out if both are
 * the same key value, which is a double; `restore` replaces its value by the text at
 * `from`, or takes it out if nothing is there; `respell` does so only if the text at `from` is the same value.
 */
export type RemovedPath =
  | { readonly path: Path; readonly does: 'remove' | 'remove-copy' }
  | { readonly path: Path; readonly does: 'restore' | 'respell'; readonly from: Path };

interface Branch {
  readonly name: string;
  readonly node: number;
  /** The index of the path that ends at this branch; -1: none does. */
  readonly leaf: number;
  /** The bit of this branch in what a document had of its own; 0: that is not recorded. */
  readonly bit: number;
  readonly below: Branch[];
}

/** How many properties and objects above them can be recorded as a document's own. Of others it is not known. */
const OWN_MAX = 31;

/** The bytes of a member, from its name to the end of its value. */
interface Member {
  readonly start: number;
  readonly end: number;
}

export class Remover {
  readonly #scan: PageScan;
  readonly #paths: readonly RemovedPath[];
  /** The nodes of the values that are restored, by path; -1: the path is not restored. */
  readonly #from: readonly number[];
  readonly #branches: Branch[] = [];
  /** The branches with a bit, each at the number of its bit. */
  readonly #owned: Branch[] = [];

  /** Precondition: the scan looks for all the paths, and no path is the beginning of another. */
  constructor(scan: PageScan, paths: readonly RemovedPath[]) {
    this.#scan = scan;
    this.#paths = paths;
    this.#from = paths.map((one) => ('from' in one ? scan.nodeAt(one.from) : -1));
    paths.forEach(({ path }, leaf) => {
      let branches = this.#branches;
      path.forEach((name, i) => {
        const isLeaf = i === path.length - 1;
        let branch = branches.find((other) => other.name === name);
        assert(branch === undefined || (!isLeaf && branch.leaf < 0), 'removed paths do not overlap');
        if (branch === undefined) {
          const node = scan.nodeAt(path.slice(0, i + 1));
          const isOwned = this.#owned.length < OWN_MAX && !(isLeaf && this.#isReplaced(leaf));
          const bit = isOwned ? 1 << this.#owned.length : 0;
          branch = { name, node, leaf: isLeaf ? leaf : -1, bit, below: [] };
          branches.push(branch);
          if (isOwned) this.#owned.push(branch);
        }
        branches = branch.below;
      });
    });
  }

  /** Whether the value at a path is always another one in the other container, so that no document has it of its own. */
  #isReplaced(leaf: number): boolean {
    const { does } = must(this.#paths[leaf], 'a leaf has its path');
    return does === 'restore' || does === 'respell';
  }

  /**
   * Returns which of the properties, and of the objects above them, the document of a row has: a bit for each. Called for
   * a document from which nothing has to be taken out.
   */
  own(row: number): number {
    let own = 0;
    for (const { node, bit } of this.#owned) if (this.#scan.start(row, node) !== 0) own |= bit;
    return own;
  }

  /**
   * Appends the edits for the document of a row. `values` has the derived value for each path; undefined: none can be
   * derived, so that the property stays if it is there. `own`: what `own` has returned for the document as it was before
   * anything was derived, and what therefore stays.
   */
  plan(row: number, values: ReadonlyArray<Scalar | undefined>, edits: Edits, own = 0): void {
    const job = { row, values, edits, own };
    const { members } = this.#within(this.#branches, job);
    removeMembers(this.#scan, { row, members, edits });
  }

  /**
   * Returns the members to take out of an object, in the order of the page, and whether each property that could be
   * derived below is either taken out or missing. Edits inside the object are planned, unless all of it is taken out.
   */
  #within(branches: readonly Branch[], job: Job): { members: Member[]; derives: boolean } {
    const members: Member[] = [];
    let derives = false;
    for (const branch of branches) {
      const found = branch.leaf < 0 ? this.#object(branch, job) : this.#property(branch, job);
      if (found === 'derived') derives = true;
      else if (found !== undefined) {
        derives = true;
        members.push(found);
      }
    }
    return { members: members.sort((one, other) => one.start - other.start), derives };
  }

  /** Returns the member to take out; `derived` if it is missing and can be derived; undefined if it stays. */
  #property({ node, leaf, bit }: Branch, { row, values, edits, own }: Job): Member | 'derived' | undefined {
    const scan = this.#scan;
    const [start, end] = [scan.start(row, node), scan.end(row, node)];
    const { does } = must(this.#paths[leaf], 'a leaf has its path');
    const value = (own & bit) === 0 ? values[leaf] : undefined;
    if (start === 0) return value === undefined ? undefined : 'derived';
    switch (does) {
      case 'respell':
      case 'restore': {
        const from = this.#from[leaf] ?? -1;
        const old = { start: scan.start(row, from), end: scan.end(row, from) };
        if (does === 'respell' && !areSame(scan.page, { start, end }, old)) return undefined;
        if (old.start === 0) return memberOf(scan.page, start, end);
        edits.add(start, end, scan.page.toString('utf8', old.start, old.end));
        return undefined;
      }
      default:
        return value !== undefined && isValue(scan.page, { start, end }, { value, does })
          ? memberOf(scan.page, start, end)
          : undefined;
    }
  }

  #object({ node, bit, below }: Branch, job: Job): Member | 'derived' | undefined {
    const scan = this.#scan;
    const { row, edits, own } = job;
    const [start, end] = [scan.start(row, node), scan.end(row, node)];
    // If the object is missing, the members below are missing too, and it would be added with them.
    if (start === 0) return this.#within(below, job).derives ? 'derived' : undefined;
    if (scan.page[start] !== 0x7b) return undefined;
    const { members, derives } = this.#within(below, job);
    const mayLeave = derives && (own & bit) === 0;
    if (mayLeave && isAll(scan.page, { start, end }, members)) return memberOf(scan.page, start, end);
    removeMembers(scan, { row, members, edits });
    return undefined;
  }
}

interface Job {
  readonly row: number;
  readonly values: ReadonlyArray<Scalar | undefined>;
  readonly edits: Edits;
  readonly own: number;
}

/**
 * Returns whether the text of a page is a value. A derived number must be the one that would be written again: the text
 * may have digits that a double loses.
 */
function isValue(
  page: Buffer,
  { start, end }: Member,
  { value, does }: { readonly value: Scalar; readonly does: 'remove' | 'remove-copy' },
): boolean {
  if (isComposite(page, start) || decodeScalar(page, start, end) !== value) return false;
  return (
    typeof value !== 'number' ||
    does === 'remove-copy' ||
    decimalOf(page.toString('latin1', start, end)) === decimalOf(JSON.stringify(value))
  );
}

/** Returns whether two texts of a page are the same value; false if one is missing, an object or an array. */
function areSame(page: Buffer, one: Member, other: Member): boolean {
  if (one.start === 0 || other.start === 0) return false;
  if (isComposite(page, one.start) || isComposite(page, other.start)) return false;
  return decodeScalar(page, one.start, one.end) === decodeScalar(page, other.start, other.end);
}

/** Returns the member whose value is in the page from `start` to `end`. */
function memberOf(page: Buffer, start: number, end: number): Member {
  let at = backOver(page, start); // after the colon
  at = backOver(page, at - 1) - 1; // at the quote that ends the name
  // Inside a name every quote is escaped, so it follows an odd number of backslashes.
  do at = page.lastIndexOf(0x22, at - 1);
  while (isEscaped(page, at));
  return { start: at, end };
}

function isEscaped(page: Buffer, at: number): boolean {
  let from = at;
  while (page[from - 1] === 0x5c) from -= 1;
  return (at - from) % 2 === 1;
}

/** Returns whether the members are all that an object has. */
function isAll(page: Buffer, { start, end }: Member, members: readonly Member[]): boolean {
  let at = over(page, start + 1);
  for (const [i, member] of members.entries()) {
    if (i > 0) at = over(page, at + 1);
    if (at !== member.start) return false;
    at = over(page, member.end);
  }
  return at === end - 1;
}

/**
 * Adds the edits that take members out of one object, given in the order of the page. Each takes the comma before it
 * along, or the one after it if no member before it is kept. No edit touches the bytes of a cut.
 */
function removeMembers(
  scan: PageScan,
  {
    row,
    members,
    edits,
  }: { readonly row: number; readonly members: readonly Member[]; readonly edits: Edits },
): void {
  const { page } = scan;
  // The end of the bytes that are already taken out, with all commas up to the next member.
  let taken = 0;
  for (const { start, end } of members) {
    const before = backOver(page, start) - 1;
    const cutBefore = cutAt(scan, row, before);
    const isFirst = page[before] === 0x7b || cutBefore !== undefined || before < taken;
    if (!isFirst) {
      edits.add(before, end, '');
      continue;
    }
    const after = over(page, end);
    const cutAfter = cutAt(scan, row, after);
    if (cutAfter === undefined) {
      taken = page[after] === 0x2c ? after + 1 : after;
      edits.add(start, taken, '');
      continue;
    }
    edits.add(start, end, '');
    const next = over(page, cutAfter.end);
    taken = page[next] === 0x2c ? next + 1 : next;
    if (taken > next) edits.add(next, taken, '');
  }
}

/** Returns the cut of a row that contains an offset. */
function cutAt(scan: PageScan, row: number, at: number): Member | undefined {
  for (let cut = scan.firstCut(row); cut < scan.lastCut(row); cut += 1)
    if (scan.cutStart(cut) <= at && at < scan.cutEnd(cut))
      return { start: scan.cutStart(cut), end: scan.cutEnd(cut) };
  return undefined;
}

/** Returns the offset of the first byte from `at` on that is not white space. */
function over(page: Buffer, at: number): number {
  let end = at;
  while ((page[end] ?? 0x7d) <= 0x20) end += 1;
  return end;
}

/** Returns the offset after the last byte before `at` that is not white space. */
function backOver(page: Buffer, at: number): number {
  let start = at;
  while ((page[start - 1] ?? 0x7b) <= 0x20) start -= 1;
  return start;
}
