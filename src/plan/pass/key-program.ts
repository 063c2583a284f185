/**
 * Writes the keys of candidates as a program for the kernel (wasm/row-keys.ts), which computes them from the bytes of a
 * page. Invariant: a key that the kernel cannot compute as src/keys does gets a program that leaves every row to the
 * caller.
 *
 * The program is a list of words: the number of candidates; the offset of the list of templates in bytes; for each
 * candidate its levels, the number of nodes that must have no value, these nodes, and for each level its kind and its node
 * or template; the offsets of the templates; their parts.
 */
import type { PageScan } from '../../documents/page-scan.ts';
import type { FilterForm, TimePiece } from '../../keys/filters/filter.ts';
import type { KeyPlan } from '../../keys/plan.ts';
import { isSamePath } from '../../keys/path.ts';
import type { Placeholder, Template } from '../../keys/strategies/strategy.ts';

// The numbers of wasm/row-keys.ts and wasm/instant.ts; a test compares them.
export const LEVEL = { stored: 0, copied: 1, template: 2 } as const;
export const PART = { end: 0, text: 1, placeholder: 2 } as const;
export const FILTER = {
  end: 0,
  hash: 1,
  time: 2,
  lower: 3,
  upper: 4,
  trim: 5,
  slice: 6,
  pad: 7,
  default: 8,
} as const;
const PIECES: readonly TimePiece[] = [
  'yyyy',
  'MM',
  'dd',
  'HH',
  'mm',
  'ss',
  'SSS',
  'quarter',
  'weekYear',
  'week',
];
const PIECE_TEXT = 256;
/** `slice` without an end. */
const NO_END = 0x7fff_ffff;
/** The most templates, and the longest text that a filter may add, for which the kernel has memory. */
const TEMPLATES_MAX = 64;
const TEXT_UNITS_MAX = 500;

/** Returns the program for the keys of these plans. The scan looks for all their paths. */
export function keyProgram(scan: PageScan, plans: readonly KeyPlan[]): Uint32Array {
  const templates: number[][] = [];
  const listed = plans.flatMap((plan) => candidateWords(scan, plan, templates));
  const offsets: number[] = [];
  let next = 2 + listed.length + templates.length;
  for (const words of templates) {
    offsets.push(next * 4);
    next += words.length;
  }
  return Uint32Array.from([
    plans.length,
    (2 + listed.length) * 4,
    ...listed,
    ...offsets,
    ...templates.flat(),
  ]);
}

function candidateWords(scan: PageScan, plan: KeyPlan, templates: number[][]): number[] {
  const before = templates.length;
  const levels = plan.levels.map(({ template }, level) => {
    if (template === undefined) return [LEVEL.stored, scan.nodeAt(plan.targetPaths[level] ?? [])];
    const copied = copiedFrom(template);
    if (copied !== undefined) return [LEVEL.copied, scan.nodeAt(copied.path)];
    const words = templateWords(scan, template);
    if (words === undefined || templates.length >= TEMPLATES_MAX) return undefined;
    const known = templates.findIndex((other) => other.join() === words.join());
    return [LEVEL.template, known < 0 ? templates.push(words) - 1 : known];
  });
  const canAdd =
    plan.replacedPaths.length === 0 &&
    plan.additionPaths.every(
      (path) => path.length === 1 && plan.targetPaths.some((level) => isSamePath(level, path)),
    );
  if (canAdd && levels.every((words) => words !== undefined)) {
    const absent = plan.additionPaths.map((path) => scan.nodeAt(path));
    return [levels.length, absent.length, ...absent, ...levels.flat()];
  }
  templates.length = before;
  // No row is without a document, so every row is left to the caller. Values at stored paths are counted all the same.
  const read = plan.levels.map(({ template }, level) =>
    template === undefined ? [LEVEL.stored, scan.nodeAt(plan.targetPaths[level] ?? [])] : [LEVEL.copied, 0],
  );
  return [read.length, 1, scan.nodes.document, ...read.flat()];
}

function copiedFrom(template: Template): Placeholder | undefined {
  const [only, ...rest] = template;
  return rest.length === 0 && typeof only === 'object' && only.filters.length === 0 ? only : undefined;
}

/** Returns the parts of a template; undefined: the kernel cannot do what the template does. */
function templateWords(scan: PageScan, template: Template): number[] | undefined {
  const words: number[] = [];
  for (const part of template) {
    if (typeof part === 'string') {
      // What becomes of half a surrogate pair is left to the caller.
      if (/\p{Surrogate}/u.test(part)) return undefined;
      words.push(PART.text, ...textWords(part));
      continue;
    }
    const filters: number[] = [];
    for (const { filter } of part.filters) {
      const argument = argumentOf(filter.form);
      if (argument === undefined) return undefined;
      filters.push(FILTER[filter.form.does], argument.length * 4, ...argument);
    }
    filters.push(FILTER.end);
    words.push(PART.placeholder, scan.nodeAt(part.path), filters.length * 4, ...filters);
  }
  return [...words, PART.end];
}

function argumentOf(form: FilterForm): number[] | undefined {
  switch (form.does) {
    case 'hash':
      return [form.buckets];
    case 'pad':
      return [form.digits];
    case 'slice':
      return [form.start >>> 0, form.end === undefined ? NO_END : form.end >>> 0];
    case 'default':
      if (/\p{Surrogate}/u.test(form.text) || form.text.length > TEXT_UNITS_MAX) return undefined;
      return textWords(form.text);
    case 'time': {
      const pieces = form.pieces.flatMap((piece) =>
        typeof piece === 'string'
          ? [PIECES.indexOf(piece)]
          : Array.from(Buffer.from(piece.text), (byte) => PIECE_TEXT + byte),
      );
      return pieces.length > TEXT_UNITS_MAX ? undefined : [pieces.length, ...pieces];
    }
    case 'lower':
    case 'upper':
    case 'trim':
      return [];
  }
}

/** The size of a text in bytes, and its bytes, which zeros fill up to a word. */
function textWords(text: string): number[] {
  const bytes = Buffer.from(text);
  const words = [bytes.length];
  for (let at = 0; at < bytes.length; at += 4)
    words.push(bytes.subarray(at, at + 4).reduce((word, byte, i) => word + byte * 2 ** (8 * i), 0));
  return words;
}
