/** Splits the text of a query into tokens. Comments and spaces are left out. */

export interface QueryToken {
  readonly kind: 'name' | 'text' | 'number' | 'parameter' | 'mark';
  /** As it was written; for a text its content. */
  readonly text: string;
}

const PATTERN = new RegExp(
  [
    String.raw`(?<space>\s+|--[^\n]*|/\*[\s\S]*?\*/)`,
    String.raw`(?<name>[\p{L}_$][\p{L}\p{N}_$]*)`,
    String.raw`(?<number>0[xX][0-9a-fA-F]+|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)`,
    String.raw`(?<parameter>@[\p{L}\p{N}_$]+)`,
    String.raw`(?<quoted>"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*')`,
    String.raw`(?<mark>!=|<>|<=|>=|\|\||\?\?|[-+*/%&|^~=<>?:,.()[\]{}!])`,
  ].join('|'),
  'uy',
);

/** Returns the tokens of a query; undefined if it has something that is not a token, such as a quote without an end. */
export function tokensOf(text: string): readonly QueryToken[] | undefined {
  const tokens: QueryToken[] = [];
  let at = 0;
  while (at < text.length) {
    PATTERN.lastIndex = at;
    const match = PATTERN.exec(text);
    if (match === null) return undefined;
    at = PATTERN.lastIndex;
    const { name, number, parameter, quoted, mark } = match.groups ?? {};
    if (name !== undefined) tokens.push({ kind: 'name', text: name });
    else if (number !== undefined) tokens.push({ kind: 'number', text: number });
    else if (parameter !== undefined) tokens.push({ kind: 'parameter', text: parameter });
    else if (quoted !== undefined) tokens.push({ kind: 'text', text: unquote(quoted) });
    else if (mark !== undefined) tokens.push({ kind: 'mark', text: mark });
  }
  return tokens;
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };

function unquote(quoted: string): string {
  return quoted
    .slice(1, -1)
    .replaceAll(/\\(?:u([0-9a-fA-F]{4})|([\s\S]))/g, (_all, code: string | undefined, one = '') =>
      code === undefined ? (ESCAPES[one] ?? one) : String.fromCharCode(Number.parseInt(code, 16)),
    );
}

/**
 * Returns the text of a query with `?` for each text and number in it, since they may be personal data, and so that
 * queries which differ only in them are one.
 */
export function withoutValues(text: string): string {
  let shown = '';
  let at = 0;
  while (at < text.length) {
    PATTERN.lastIndex = at;
    const match = PATTERN.exec(text);
    // What cannot be read could be a value, so none of it is shown.
    if (match === null) return `${shown.trim()} ...`;
    at = PATTERN.lastIndex;
    const { space, number, quoted } = match.groups ?? {};
    const isStep = quoted !== undefined && shown.endsWith('[');
    if (space !== undefined) shown += ' ';
    else shown += number === undefined && (quoted === undefined || isStep) ? match[0] : '?';
  }
  return shown.replaceAll(/ +/g, ' ').trim();
}
