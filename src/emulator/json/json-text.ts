/**
 * Reads and edits JSON as text: finds the spans of values, and changes one value without touching the rest.
 *
 * Invariant: no function rebuilds a document from a parsed object, because that would round long integers and change
 * spellings. Every function expects text that JSON.parse has accepted, except `maxDepth`, which runs before
 * JSON.parse.
 */

interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Member extends Span {
  /** The name without escapes. `start` is at the opening quote of the name, `end` after the value. */
  readonly name: string;
  readonly valueStart: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;

/** Returns the first position at or after `from` that is not white space. */
export function skipSpace(text: string, from: number): number {
  let at = from;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
    at += 1;
  }
}

/** Returns the position after the string whose opening quote is at `from`. */
function skipString(text: string, from: number): number {
  let at = text.indexOf('"', from + 1);
  while (at !== -1) {
    let before = at - 1;
    while (text.charCodeAt(before) === BACKSLASH) before -= 1;
    if ((at - before) % 2 === 1) return at + 1;
    at = text.indexOf('"', at + 1);
  }
  return text.length;
}

/** Returns the position after the value that starts at `from`. */
function skipValue(text: string, from: number): number {
  const first = text.charCodeAt(from);
  if (first === QUOTE) return skipString(text, from);
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) {
    let at = from;
    for (; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET || code <= 0x20) break;
    }
    return at;
  }
  let depth = 0;
  let at = from;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = skipString(text, at);
      continue;
    }
    at += 1;
    if (code === OPEN_BRACE || code === OPEN_BRACKET) depth += 1;
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
  return at;
}

/** Returns how deep objects and arrays are nested; 0 for a scalar. Any text is safe, valid JSON or not. */
export function maxDepth(text: string): number {
  let depth = 0;
  let deepest = 0;
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = skipString(text, at);
      continue;
    }
    at += 1;
    if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      depth += 1;
      if (depth > deepest) deepest = depth;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth -= 1;
  }
  return deepest;
}

function nameAt(text: string, start: number, end: number): string {
  const raw = text.slice(start + 1, end - 1);
  return raw.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : raw;
}

/** Yields the members of the object that starts at `from`, in their order, including members with the same name. */
export function* membersOf(text: string, from: number): Generator<Member> {
  let at = skipSpace(text, from + 1);
  while (text.charCodeAt(at) === QUOTE) {
    const nameEnd = skipString(text, at);
    const valueStart = skipSpace(text, skipSpace(text, nameEnd) + 1);
    const end = skipValue(text, valueStart);
    yield { name: nameAt(text, at, nameEnd), start: at, valueStart, end };
    at = skipSpace(text, end);
    if (text.charCodeAt(at) !== COMMA) return;
    at = skipSpace(text, at + 1);
  }
}

/** Yields the elements of the array that starts at `from`. */
export function* elementsOf(text: string, from: number): Generator<Span> {
  let at = skipSpace(text, from + 1);
  if (text.charCodeAt(at) === CLOSE_BRACKET) return;
  while (at < text.length) {
    const end = skipValue(text, at);
    yield { start: at, end };
    const comma = skipSpace(text, end);
    if (text.charCodeAt(comma) !== COMMA) return;
    at = skipSpace(text, comma + 1);
  }
}

function memberNamed(text: string, from: number, name: string): Member | undefined {
  let found: Member | undefined;
  // Of several members with the same name the last one counts, as in JSON.parse.
  for (const member of membersOf(text, from)) if (member.name === name) found = member;
  return found;
}

/** Returns the span of the value at a path, if it exists. The steps into arrays are numbers. */
export function valueSpan(text: string, path: readonly (string | number)[]): Span | undefined {
  let start = skipSpace(text, 0);
  for (const step of path) {
    const code = text.charCodeAt(start);
    let next: number | undefined;
    if (code === OPEN_BRACE && typeof step === 'string') next = memberNamed(text, start, step)?.valueStart;
    else if (code === OPEN_BRACKET && typeof step === 'number') {
      let index = 0;
      for (const element of elementsOf(text, start)) {
        if (index === step) next = element.start;
        index += 1;
        if (next !== undefined) break;
      }
    }
    if (next === undefined) return undefined;
    start = next;
  }
  return { start, end: skipValue(text, start) };
}

/** Returns the text without some spans, which must be in ascending order and must not overlap. */
function cutAll(text: string, cuts: readonly Span[]): string {
  let kept = '';
  let from = 0;
  for (const cut of cuts) {
    kept += text.slice(from, cut.start);
    from = cut.end;
  }
  return kept + text.slice(from);
}

/** Returns the text of an object without the top-level members named in `drop`. All other text stays as it is. */
export function withoutMembers(text: string, drop: ReadonlySet<string>): string {
  const start = skipSpace(text, 0);
  const cuts: Span[] = [];
  let lastKeptEnd = -1;
  let pending: number | undefined; // the start of the dropped members since the last kept one
  for (const member of membersOf(text, start)) {
    if (drop.has(member.name)) {
      pending ??= member.start;
      continue;
    }
    // Dropped members are cut up to the start of the next kept member, with the comma between.
    if (pending !== undefined) cuts.push({ start: pending, end: member.start });
    pending = undefined;
    lastKeptEnd = member.end;
  }
  if (pending !== undefined) {
    // Dropped members at the end of the object are cut with the comma before the first of these members.
    const close = text.lastIndexOf('}');
    cuts.push({ start: lastKeptEnd === -1 ? start + 1 : lastKeptEnd, end: close });
  }
  return cuts.length === 0 ? text : cutAll(text, cuts);
}

/** Returns the text with another value at a span. */
export function replaceSpan(text: string, span: Span, value: string): string {
  return text.slice(0, span.start) + value + text.slice(span.end);
}

/** Returns the text with a member added at the end of the object that starts at `from`. */
export function appendMember(text: string, from: number, name: string, value: string): string {
  const close = skipValue(text, from) - 1;
  const empty = skipSpace(text, from + 1) === close;
  return `${text.slice(0, close)}${empty ? '' : ','}${JSON.stringify(name)}:${value}${text.slice(close)}`;
}

/** Returns the text with an element inserted at `index` of the array at `from`; undefined if out of bounds. */
export function insertElement(text: string, from: number, index: number, value: string): string | undefined {
  const elements = [...elementsOf(text, from)];
  if (index > elements.length) return undefined;
  const before = elements[index];
  if (before !== undefined) return `${text.slice(0, before.start)}${value},${text.slice(before.start)}`;
  const close = skipValue(text, from) - 1;
  return `${text.slice(0, close)}${elements.length === 0 ? '' : ','}${value}${text.slice(close)}`;
}

/**
 * Returns the text without one member or element of the object or array at `from`, and without a comma next to it;
 * undefined when the member or element does not exist.
 */
export function removeStep(text: string, from: number, step: string | number): string | undefined {
  if (typeof step === 'string') {
    if (memberNamed(text, from, step) === undefined) return undefined;
    const end = skipValue(text, from);
    return text.slice(0, from) + withoutMembers(text.slice(from, end), new Set([step])) + text.slice(end);
  }
  const elements = [...elementsOf(text, from)];
  const element = elements[step];
  if (element === undefined) return undefined;
  const next = elements[step + 1];
  const previous = elements[step - 1];
  if (next !== undefined) return cutAll(text, [{ start: element.start, end: next.start }]);
  return cutAll(text, [{ start: previous?.end ?? element.start, end: element.end }]);
}

/**
 * Returns the text with numbers as the service may store them: -0 as 0, 1.10 as 1.1, 3.0 as 3. 64-bit integers stay.
 */
export function normalizeNumbers(text: string): string {
  return mapNumbers(text, (token) => {
    if (/^-?\d{1,19}$/.test(token)) {
      const whole = BigInt(token);
      if (BigInt.asIntN(64, whole) === whole) return whole.toString();
    }
    const value = Number(token);
    return Number.isFinite(value) ? String(value === 0 ? 0 : value) : token;
  });
}

/** Returns the text with each number in the spelling that `respell` gives it. */
export function mapNumbers(text: string, respell: (number: string) => string): string {
  return text.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) =>
    token.startsWith('"') ? token : respell(token),
  );
}
