/** Documents and pages of every shape, as text: what a serializer would never write is there too. */
import * as fc from 'fast-check';

/** Names that have a meaning for cosmig or the service, and names that only look so. */
const NAMES = [
  'id',
  'pk',
  'ttl',
  'a',
  'b',
  'c/d',
  '_ts',
  '_rid',
  '_etag',
  '_lsn',
  '_self',
  '_attachments',
  '_own',
  '_tsx',
  '__proto__',
  'constructor',
  '',
  'Zoë',
  '😀',
  '\ud800',
  '"\\',
  'current',
  'metadata',
  'Documents',
];

/** A text as a JSON string, spelled in one of many ways; half a pair cannot stand in UTF-8, so it is escaped. */
function spelled(text: string, how: readonly number[]): string {
  let json = '"';
  for (let i = 0; i < text.length; i += 1) {
    const way = (how[i % Math.max(1, how.length)] ?? 0) % 8;
    if (way > 1 && (text.codePointAt(i) ?? 0) > 0xffff) {
      json += text.slice(i, i + 2);
      i += 1;
      continue;
    }
    const unit = text.charCodeAt(i);
    const letter = text.charAt(i);
    const code = unit.toString(16).padStart(4, '0');
    const surrogate = unit >= 0xd800 && unit < 0xe000;
    if (surrogate || way === 0) json += `\\u${code}`;
    else if (way === 1) json += `\\u${code.toUpperCase()}`;
    else if (letter === '/' && way < 4) json += '\\/';
    else
      json += unit < 0x20 || letter === '"' || letter === '\\' ? JSON.stringify(letter).slice(1, -1) : letter;
  }
  return `${json}"`;
}

const how = fc.array(fc.nat(7), { maxLength: 4 });

export const anyText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...NAMES),
  fc.string({ maxLength: 12 }),
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc
    .array(fc.integer({ min: 0xd7ff, max: 0xe001 }), { maxLength: 3 })
    .map((units) => String.fromCharCode(...units)),
  fc.constantFrom('x'.repeat(15), 'x'.repeat(16), 'x'.repeat(17), 'é'.repeat(40), '\u0000\u001f\u007f'),
);

export const anyString: fc.Arbitrary<string> = fc
  .tuple(anyText, how)
  .map(([text, ways]) => spelled(text, ways));

export const anyNumber: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '0',
    '-0',
    '1',
    '1.0',
    '1.10',
    '11e-1',
    '9223372036854775807',
    '9007199254740992',
    '-9007199254740993',
    '1e400',
    '-1E+400',
    '5e-324',
  ),
  fc.constantFrom('0.1e+1', '1e0', '100', '1e2', '-0.0', '0e0', '123456789012345678901234567890', '1E-7'),
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
);

export const anyScalar: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: anyString },
  { weight: 2, arbitrary: anyNumber },
  fc.constantFrom('true', 'false', 'null'),
);

const gap = fc.constantFrom('', '', '', ' ', '\n  ', '\t\r\n');

function listed(
  items: ReadonlyArray<readonly [string, string, string]>,
  open: string,
  close: string,
): string {
  return `${open}${items.map((parts) => parts.join('')).join(',')}${close}`;
}

const name: fc.Arbitrary<string> = fc
  .tuple(fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...NAMES) }, anyText), how)
  .map(([text, ways]) => spelled(text, ways));

/** Any JSON value; `depth` bounds it. */
export function anyValue(depth: number): fc.Arbitrary<string> {
  if (depth === 0) return anyScalar;
  return fc.oneof(
    { weight: 3, arbitrary: anyScalar },
    anyObject(depth - 1),
    fc
      .array(fc.tuple(gap, anyValue(depth - 1), gap), {
        maxLength: 4,
      })
      .map((items) => listed(items, '[', ']')),
  );
}

/** Any object, names twice and all. */
export function anyObject(depth: number, members = 8): fc.Arbitrary<string> {
  const member = fc
    .tuple(gap, name, gap, gap, anyValue(depth), gap)
    .map(([a, text, b, c, value, d]) => [a, `${text}${b}:${c}${value}`, d] as const);
  return fc.oneof(
    {
      weight: 8,
      arbitrary: fc.array(member, { maxLength: members }).map((items) => listed(items, '{', '}')),
    },
    { weight: 1, arbitrary: gap.map((space) => `{${space}}`) },
  );
}

export const anyDocument: fc.Arbitrary<string> = anyObject(3, 12);

/** A feed page, with its members in any order. */
export function pageOf(elements: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .tuple(fc.array(fc.tuple(gap, elements, gap), { maxLength: 4 }), gap, fc.nat(5), anyValue(1))
    .map(([items, space, order, extra]) => {
      const documents = `"Documents"${space}:${space}[${items.map((parts) => parts.join('')).join(',')}]`;
      const members = [`"_rid":"x=="`, documents, `"_count":${items.length}`, `"more":${extra}`];
      const turned = [...members.slice(order % 4), ...members.slice(0, order % 4)];
      return `${space}{${turned.join(`${space},${space}`)}}${space}`;
    });
}

/** An entry of the all-versions feed around a document. */
export const anyEnvelope: fc.Arbitrary<string> = fc
  .tuple(anyObject(2), anyObject(1), fc.constantFrom('create', 'replace', 'delete'), anyScalar, fc.nat(3))
  .map(([document, key, type, id, shape]) => {
    const metadata = `"metadata":{"operationType":"${type}","lsn":12,"crts":1700000000,"previousImageLSN":3,"timeToLiveExpired":true,"id":${id},"partitionKey":${key}}`;
    if (shape === 0) return `{${metadata}}`;
    if (shape === 1) return `{"current":${document},${metadata}}`;
    if (shape === 2) return `{${metadata},"current":null,"previous":${document}}`;
    return `{"current":${key},${metadata},"current":${document}}`;
  });
