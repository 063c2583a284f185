/**
 * Pages of documents as text: cuts a JSON array into the exact texts of its elements, without parsing them,
 * so that a test can hold byte against byte. Written for tests; the emulator has its own scanner.
 */

/** The text of one JSON value that starts at `start`. */
function valueEnd(text: string, start: number): number {
  let depth = 0;
  let inString = false;
  for (let at = start; at < text.length; at += 1) {
    const unit = text[at];
    if (inString) {
      if (unit === '\\') at += 1;
      else if (unit === '"') inString = false;
      continue;
    }
    if (unit === '"') inString = true;
    else if (unit === '{' || unit === '[') depth += 1;
    else if (unit === '}' || unit === ']') {
      if (depth === 0) return at;
      depth -= 1;
    } else if (unit === ',' && depth === 0) return at;
  }
  return text.length;
}

/** The texts in the `Documents` array of a feed or query reply. */
export function documentTexts(body: string): string[] {
  const head = '"Documents":[';
  let at = body.indexOf(head);
  if (at < 0) throw new Error(`the reply has no Documents: ${body.slice(0, 200)}`);
  at += head.length;
  const texts: string[] = [];
  while (body[at] !== ']') {
    const end = valueEnd(body, at);
    texts.push(body.slice(at, end));
    at = body[end] === ',' ? end + 1 : end;
  }
  return texts;
}

/** The `current` of an all-versions entry, as text; undefined when there is none. */
export function currentText(entry: string): string | undefined {
  const head = '{"current":';
  if (!entry.startsWith(head)) return undefined;
  return entry.slice(head.length, valueEnd(entry, head.length));
}

/** A document of the latest-version feed as a point read would show it. */
export function withoutLsn(text: string): string {
  return text.replace(/,"_lsn":\d+\}$/, '}');
}

/** What a client sent, of a document as it is stored: everything before the system properties. */
export function sentPart(text: string): string {
  const at = text.lastIndexOf(',"_rid":"');
  if (at < 0) throw new Error(`a document without system properties: ${text}`);
  return `${text.slice(0, at)}}`;
}
