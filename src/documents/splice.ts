/**
 * Makes the target document from the bytes of the source document: leaves out the system properties, and adds or
 * replaces other properties. Invariant: all other bytes are copied unchanged.
 */
import { assert } from '../lib/assert.ts';
import { decodeScalar, isComposite, type Scalar } from './scalar.ts';
import type { PageScan } from './page-scan.ts';

/** A property path: the names of the properties from the top of a document. */
type Path = readonly string[];

/**
 * A list of edits, in ascending order. An edit replaces some bytes of a page by a text. The list is reused for every
 * document.
 */
export class Edits {
  count = 0;
  readonly #from: number[] = [];
  readonly #to: number[] = [];
  readonly #texts: string[] = [];
  readonly #ends: number[] = [];

  clear(): void {
    this.count = 0;
  }

  /** Adds an edit that replaces the bytes from `from` to `to` by `text`. Edits at the same offset keep their order. */
  add(from: number, to: number, text: string): void {
    let at = this.count;
    this.count += 1;
    for (; at > 0 && (this.#from[at - 1] ?? 0) > from; at -= 1) {
      this.#from[at] = this.#from[at - 1] ?? 0;
      this.#to[at] = this.#to[at - 1] ?? 0;
      this.#texts[at] = this.#texts[at - 1] ?? '';
    }
    this.#from[at] = from;
    this.#to[at] = to;
    this.#texts[at] = text;
  }

  from(edit: number): number {
    return this.#from[edit] ?? 0;
  }

  to(edit: number): number {
    return this.#to[edit] ?? 0;
  }

  text(edit: number): string {
    return this.#texts[edit] ?? '';
  }

  /** Records the offset in the output at which the text of an edit ends. */
  wrote(edit: number, end: number): void {
    this.#ends[edit] = end;
  }

  /**
   * Returns the offset in the output after the text that replaced the bytes at `from`; 0 if no edit begins at `from`.
   */
  endOf(from: number): number {
    for (let edit = 0; edit < this.count; edit += 1)
      if (this.#from[edit] === from) return this.#ends[edit] ?? 0;
    return 0;
  }
}

/** Receives a document piece by piece. */
export interface DocumentOutput {
  /** The number of bytes written. */
  readonly length: number;
  /** Writes the bytes of `source` from `from` up to and excluding `to`. */
  putSlice(source: Uint8Array, from: number, to: number): void;
  putText(text: string): void;
}

/** Writes a row's document without its system properties and with the edits. */
export function spliceDocument(out: DocumentOutput, scan: PageScan, row: number, edits?: Edits): void {
  const { page, nodes } = scan;
  const last = scan.lastCut(row);
  const count = edits?.count ?? 0;
  let cut = scan.firstCut(row);
  let edit = 0;
  let from = scan.start(row, nodes.document);
  while (cut < last || edit < count) {
    // An edit is never inside a cut. If a cut and an edit are both at the end of the document, the cut comes first.
    if (edits === undefined || edit === count || (cut < last && scan.cutStart(cut) < edits.from(edit))) {
      out.putSlice(page, from, scan.cutStart(cut));
      from = scan.cutEnd(cut);
      cut += 1;
    } else {
      out.putSlice(page, from, edits.from(edit));
      out.putText(edits.text(edit));
      edits.wrote(edit, out.length);
      from = edits.to(edit);
      edit += 1;
    }
  }
  out.putSlice(page, from, scan.end(row, nodes.document));
}

/** What happens if the document already has the property to add. */
export type OnPresent =
  /** An equal value stays. Any other value is a conflict, even if there is no new value. */
  | 'keep'
  /** Any existing value stays. */
  | 'leave'
  /** The new value replaces the existing one. If there is no new value, the existing one is a conflict. */
  | 'replace'
  /**
   * The new value replaces the existing one, even if they are equal. If there is no new value, the existing one stays.
   */
  | 'replace-or-leave';

export interface AddedPath {
  readonly path: Path;
  /**
   * The path in the document from which the JSON text of the value is copied; undefined: JSON.stringify makes the text.
   */
  readonly from?: Path | undefined;
  readonly onPresent: OnPresent;
}

interface Branch {
  /** The property name as JSON text. */
  readonly name: string;
  readonly node: number;
  /** The index of the added path that ends at this branch; -1: none does. */
  readonly leaf: number;
  /** The node from which the JSON text of the value is copied; -1: JSON.stringify makes the text. */
  readonly from: number;
  readonly below: Branch[];
}

/** Plans the edits that add top-level or nested properties to the documents of one scan. */
export class Adder {
  readonly #scan: PageScan;
  readonly #paths: readonly AddedPath[];
  readonly #branches: Branch[] = [];

  /** Precondition: the scan looks for all the paths, and no path is the beginning of another. */
  constructor(scan: PageScan, paths: readonly AddedPath[]) {
    this.#scan = scan;
    this.#paths = paths;
    paths.forEach(({ path, from }, leaf) => {
      let branches = this.#branches;
      path.forEach((step, i) => {
        const name = JSON.stringify(step);
        const isLeaf = i === path.length - 1;
        let branch = branches.find((other) => other.name === name);
        assert(branch === undefined || (!isLeaf && branch.leaf < 0), 'added paths do not overlap');
        if (branch === undefined) {
          const node = scan.nodeAt(path.slice(0, i + 1));
          const carried = isLeaf && from !== undefined ? scan.nodeAt(from) : -1;
          branch = { name, node, leaf: isLeaf ? leaf : -1, from: carried, below: [] };
          branches.push(branch);
        }
        branches = branch.below;
      });
    });
  }

  /**
   * Appends the edits that add `values` to the document of a row. `values` has one value for each path; an undefined
   * value adds nothing. Returns the path of the first conflict, if there is one.
   */
  plan(row: number, values: ReadonlyArray<Scalar | undefined>, edits: Edits): Path | undefined {
    return this.#planObject(row, this.#scan.nodes.document, this.#branches, { values, edits });
  }

  /** The nodes that a document lacks if it has none of the properties, nor an object around one. */
  get nodes(): readonly number[] {
    return this.#branches.map(({ node }) => node);
  }

  /**
   * Returns the JSON text of the members that `plan` adds to a document without a value at any of `nodes`. Undefined if a
   * value is copied from the document.
   */
  members(values: ReadonlyArray<Scalar | undefined>): string | undefined {
    if (this.#paths.some(({ from }) => from !== undefined)) return undefined;
    const members = this.#branches.map((branch) => this.#memberOf(0, branch, values));
    return members.filter((member) => member !== '').join(',');
  }

  #planObject(row: number, object: number, branches: readonly Branch[], job: Job): Path | undefined {
    const scan = this.#scan;
    let added = '';
    for (const branch of branches) {
      if (scan.start(row, branch.node) === 0) {
        const member = this.#memberOf(row, branch, job.values);
        if (member !== '') added += added === '' ? member : `,${member}`;
      } else {
        const conflict =
          branch.leaf < 0 ? this.#planBelow(row, branch, job) : this.#planLeaf(row, branch, job);
        if (conflict !== undefined) return conflict;
      }
    }
    if (added !== '') {
      const end = scan.end(row, object) - 1;
      job.edits.add(end, end, this.#isEmpty(row, object) ? added : `,${added}`);
    }
    return undefined;
  }

  #planBelow(row: number, branch: Branch, job: Job): Path | undefined {
    if (this.#scan.page[this.#scan.start(row, branch.node)] === 0x7b)
      return this.#planObject(row, branch.node, branch.below, job);
    // Nothing can be added below a scalar or an array, which is a conflict only if there is a value to add.
    const leaf = firstLeaf(branch, (index) => job.values[index] !== undefined);
    return leaf === undefined ? undefined : this.#paths[leaf]?.path;
  }

  #planLeaf(row: number, branch: Branch, job: Job): Path | undefined {
    const scan = this.#scan;
    const { path, onPresent } = this.#paths[branch.leaf] ?? { path: [], onPresent: 'keep' };
    const value = job.values[branch.leaf];
    const [start, end] = [scan.start(row, branch.node), scan.end(row, branch.node)];
    if (onPresent === 'leave') return undefined;
    if (value === undefined) return onPresent === 'replace-or-leave' ? undefined : path;
    // A value of `replace-or-leave` is written even if it is equal: its offset in the output must be known, since the
    // value may be refreshed later.
    const mayReplace = onPresent === 'replace-or-leave';
    if (!mayReplace && !isComposite(scan.page, start) && decodeScalar(scan.page, start, end) === value)
      return undefined;
    if (onPresent === 'keep') return path;
    job.edits.add(start, end, this.#textOf(row, branch, value));
    return undefined;
  }

  /** Returns the JSON text of a member with all new values at or below a branch; empty if there are none. */
  #memberOf(row: number, branch: Branch, values: Job['values']): string {
    if (branch.leaf >= 0) {
      const value = values[branch.leaf];
      return value === undefined ? '' : `${branch.name}:${this.#textOf(row, branch, value)}`;
    }
    const members = branch.below
      .map((below) => this.#memberOf(row, below, values))
      .filter((member) => member !== '');
    return members.length === 0 ? '' : `${branch.name}:{${members.join(',')}}`;
  }

  #textOf(row: number, { from }: Branch, value: Scalar): string {
    const scan = this.#scan;
    if (from < 0) return JSON.stringify(value);
    return scan.page.toString('utf8', scan.start(row, from), scan.end(row, from));
  }

  /** Returns whether an object is empty. The document counts as empty if it has only system properties. */
  #isEmpty(row: number, object: number): boolean {
    const scan = this.#scan;
    const isDocument = object === scan.nodes.document;
    let at = scan.start(row, object) + 1;
    // If a document has only system properties, there is a single cut, which starts at the first member.
    const cut = scan.firstCut(row);
    if (isDocument && cut < scan.lastCut(row) && scan.cutStart(cut) === at) at = scan.cutEnd(cut);
    const { page } = scan;
    while ((page[at] ?? 0) <= 0x20) at += 1;
    return at === scan.end(row, object) - 1;
  }
}

interface Job {
  readonly values: ReadonlyArray<Scalar | undefined>;
  readonly edits: Edits;
}

function firstLeaf(branch: Branch, matches: (leaf: number) => boolean): number | undefined {
  if (branch.leaf >= 0) return matches(branch.leaf) ? branch.leaf : undefined;
  for (const below of branch.below) {
    const leaf = firstLeaf(below, matches);
    if (leaf !== undefined) return leaf;
  }
  return undefined;
}
