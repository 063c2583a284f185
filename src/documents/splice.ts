/**
 * Makes the target document from the bytes of the source: without the system properties, with the added ones.
 * Invariant: everything that is not cut or edited is copied byte for byte.
 */
import { assert } from '../lib/assert.ts';
import { decodeScalar, isComposite } from './scalar.ts';
import type { Scalar } from './scalar.ts';
import type { PageScan } from './page-scan.ts';

/** A property path as its steps. */
type Path = readonly string[];

/** Texts that replace bytes, in ascending order; reused for every document. */
export class Edits {
  count = 0;
  readonly #from: number[] = [];
  readonly #to: number[] = [];
  readonly #texts: string[] = [];
  readonly #ends: number[] = [];

  clear(): void {
    this.count = 0;
  }

  /** Replaces the bytes from `from` to `to` by `text`. Texts for the same offset keep their order. */
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

  /** Records where the text ends in the output. */
  wrote(edit: number, end: number): void {
    this.#ends[edit] = end;
  }

  /** The end, in the output, of the text that replaced bytes at `from`. */
  endOf(from: number): number {
    for (let edit = 0; edit < this.count; edit += 1)
      if (this.#from[edit] === from) return this.#ends[edit] ?? 0;
    return 0;
  }
}

/** The output of a document, piece by piece. */
export interface DocumentOutput {
  /** The number of bytes written. */
  readonly length: number;
  /** The bytes from `from` to `to`. */
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
    // An edit is never inside a cut; an edit at the end of the document comes after a cut that ends there.
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

/** How an added property treats an existing one. */
export type OnPresent =
  /** An equal value stays; any other is a conflict, even if nothing is to be added. */
  | 'keep'
  /** The value is replaced; without a new value it is a conflict. */
  | 'replace'
  /** The value is replaced if there is a new one, even an equal one. */
  | 'replace-or-leave';

export interface AddedPath {
  readonly path: Path;
  /** The node that has the value in the document: its text is copied unchanged. */
  readonly from?: Path | undefined;
  readonly onPresent: OnPresent;
}

interface Branch {
  /** The name as JSON. */
  readonly name: string;
  readonly node: number;
  /** The index of the added path that ends here, or -1. */
  readonly leaf: number;
  /** Where the text of its value is, or -1. */
  readonly from: number;
  readonly below: Branch[];
}

/** Plans the edits that add top-level or nested properties to the documents of one scan. */
export class Adder {
  readonly #scan: PageScan;
  readonly #paths: readonly AddedPath[];
  readonly #branches: Branch[] = [];

  /** No path leads through another one, and the scan looks for all of them. */
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

  /** Appends the edits for these values, one for each path (undefined: none), or returns the path in conflict. */
  plan(row: number, values: ReadonlyArray<Scalar | undefined>, edits: Edits): Path | undefined {
    return this.#planObject(row, this.#scan.nodes.document, this.#branches, { values, edits });
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
    // Nothing can be added below a scalar or an array. That is fine if nothing has to be.
    const leaf = firstLeaf(branch, (index) => job.values[index] !== undefined);
    return leaf === undefined ? undefined : this.#paths[leaf]?.path;
  }

  #planLeaf(row: number, branch: Branch, job: Job): Path | undefined {
    const scan = this.#scan;
    const { path, onPresent } = this.#paths[branch.leaf] ?? { path: [], onPresent: 'keep' };
    const value = job.values[branch.leaf];
    const [start, end] = [scan.start(row, branch.node), scan.end(row, branch.node)];
    if (value === undefined) return onPresent === 'replace-or-leave' ? undefined : path;
    // A refreshed value is written even if it is equal, so that it can be refreshed again.
    const isReckoned = onPresent === 'replace-or-leave';
    if (!isReckoned && !isComposite(scan.page, start) && decodeScalar(scan.page, start, end) === value)
      return undefined;
    if (onPresent === 'keep') return path;
    job.edits.add(start, end, this.#textOf(row, branch, value));
    return undefined;
  }

  /** A branch with all values below it as a member; empty without values. */
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

  /** Whether an object is empty; for the document: after its system properties were cut. */
  #isEmpty(row: number, object: number): boolean {
    const scan = this.#scan;
    const isDocument = object === scan.nodes.document;
    let at = scan.start(row, object) + 1;
    // If nothing is kept, there is a single cut, which starts at the first member.
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
