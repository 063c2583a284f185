/** JSON objects as text: their members as they are written, so that a test can hold byte against byte. */

/** One member: its name, unescaped, and the text of its value. */
export interface Member {
  readonly name: string;
  readonly text: string;
}

/** Everything of the service's own at the top of a document. */
export const SYSTEM_NAMES: ReadonlySet<string> = new Set([
  '_rid',
  '_self',
  '_etag',
  '_attachments',
  '_ts',
  '_lsn',
]);

/** The members of the object that `text` is, in their order. */
export function membersOf(text: string): Member[] {
  let at = spaceEnd(text, 0);
  if (text[at] !== '{') throw new Error(`not an object: ${text.slice(0, 200)}`);
  const members: Member[] = [];
  at = spaceEnd(text, at + 1);
  while (text[at] !== '}') {
    const nameEnd = valueEnd(text, at);
    const name: unknown = JSON.parse(text.slice(at, nameEnd));
    at = spaceEnd(text, nameEnd);
    if (typeof name !== 'string' || text[at] !== ':')
      throw new Error(`no member at ${at} of ${text.slice(0, 200)}`);
    at = spaceEnd(text, at + 1);
    const end = valueEnd(text, at);
    members.push({ name, text: text.slice(at, end) });
    at = spaceEnd(text, end);
    if (text[at] === ',') at = spaceEnd(text, at + 1);
  }
  return members;
}

/** The document as an application wrote it: without what the service added. */
export function ownMembers(text: string): Member[] {
  return membersOf(text).filter(({ name }) => !SYSTEM_NAMES.has(name));
}

function spaceEnd(text: string, from: number): number {
  let at = from;
  while (' \n\r\t'.includes(text[at] ?? 'x')) at += 1;
  return at;
}

/** Where the value that starts at `start` ends; spaces behind it are not part of it. */
function valueEnd(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const unit = text[at];
    if (unit === '"') {
      at = textEnd(text, at) - 1;
      if (depth === 0) return at + 1;
    } else if (unit === '{' || unit === '[') depth += 1;
    else if (unit === '}' || unit === ']') {
      if (depth === 0) return at;
      depth -= 1;
      if (depth === 0) return at + 1;
    } else if (
      depth === 0 &&
      (unit === ',' || unit === ' ' || unit === '\n' || unit === '\r' || unit === '\t')
    )
      return at;
  }
  throw new Error(`the value at ${start} has no end: ${text.slice(start, start + 200)}`);
}

function textEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '"') return at + 1;
  }
  throw new Error(`the text at ${start} has no end`);
}
