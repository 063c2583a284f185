/** Generated JSON texts, in every spelling that JSON.parse accepts. */
import * as fc from 'fast-check';

/** A JSON text written by hand, so to speak: space anywhere, names escaped or not, members more than once. */
export interface Written {
  readonly text: string;
  /** Whether a name stands twice in an object somewhere. */
  readonly doubled: boolean;
}

const space = fc.stringMatching(/^[ \n\r\t]{0,3}$/);
/** Names that trip who handles JSON as text or as objects. */
export const NAMES = [
  'a',
  'b',
  'id',
  '',
  '__proto__',
  'constructor',
  'é',
  '日',
  '\ud800',
  'a"b',
  'a\\',
  '\\"',
  '{',
  '],',
  ':',
  '\u0000',
  '0',
  '/',
];

/** A text in JSON quotes, its characters spelled plainly or as escapes. */
function quoted(text: string): fc.Arbitrary<string> {
  const plain = JSON.stringify(text);
  const escaped = `"${[...Array(text.length).keys()].map((at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')}"`;
  return fc.constantFrom(plain, escaped);
}

const anyText = fc.oneof(
  fc.constantFrom(...NAMES),
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.constantFrom('\\'.repeat(5), '"', '\\"}', '1.10', '-0', 'x'.repeat(300)),
);

const NUMBERS = [
  '0',
  '-0',
  '1',
  '-1',
  '1.10',
  '3.0',
  '1e3',
  '1E+2',
  '-0.0e-0',
  '9223372036854775807',
  '-9223372036854775808',
  '123456789012345678901234567890',
  '5e-324',
  '1e400',
];

const scalar: fc.Arbitrary<Written> = fc
  .oneof(
    fc.constantFrom('true', 'false', 'null', ...NUMBERS),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
    anyText.chain(quoted),
  )
  .map((text) => ({ text, doubled: false }));

export const { written } = fc.letrec<{ written: Written }>((tie) => ({
  written: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalar,
    fc
      .tuple(space, fc.array(fc.tuple(space, tie('written'), space), { maxLength: 4 }))
      .map(([inner, parts]) => ({
        text: `[${parts.length === 0 ? inner : parts.map(([before, value, after]) => `${before}${value.text}${after}`).join(',')}]`,
        doubled: parts.some(([, value]) => value.doubled),
      })),
    fc
      .tuple(
        space,
        fc.array(
          fc.tuple(
            space,
            anyText.chain((name) => quoted(name).map((text) => ({ name, text }))),
            space,
            space,
            tie('written'),
            space,
          ),
          { maxLength: 5 },
        ),
      )
      .map(([inner, parts]) => ({
        text: `{${parts.length === 0 ? inner : parts.map(([a, name, b, c, value, d]) => `${a}${name.text}${b}:${c}${value.text}${d}`).join(',')}}`,
        doubled:
          parts.some(([, , , , value]) => value.doubled) ||
          new Set(parts.map(([, name]) => name.name)).size < parts.length,
      })),
  ),
}));

/** A text with space around it. */
export const framed = fc.tuple(space, written, space).map(([before, value, after]) => ({
  text: `${before}${value.text}${after}`,
  doubled: value.doubled,
}));

/** Steps to a value; those into arrays are numbers. */
export type Path = (string | number)[];

/** Every path of a parsed value, its own properties only. */
export function* pathsOf(value: unknown, path: Path = []): Generator<{ path: Path; value: unknown }> {
  yield { path, value };
  if (Array.isArray(value))
    for (const [index, element] of value.entries()) yield* pathsOf(element, [...path, index]);
  else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value)) yield* pathsOf(member, [...path, name]);
  }
}
