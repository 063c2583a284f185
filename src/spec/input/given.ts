/**
 * A value as the operator gave it, with its origin: so a problem can name the flag, the variable or the line of the
 * file, and its hint can show the fix in the same form. Invariant: a secret is named and never repeated.
 */
import type { Problem } from '../../lib/errors.ts';
import { redactText } from '../../lib/log.ts';
import { exampleOf, fieldOf, flagOfField, type FieldName } from '../fields.ts';

/** The origin of a value. */
export type Origin =
  | { readonly kind: 'flag' }
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'file'; readonly file: string; readonly line: number };

/** The texts that the operator gave for one field: one text, or several for a list. */
export interface Given {
  readonly field: FieldName;
  readonly texts: readonly string[];
  readonly origin: Origin;
}

/** All values that the operator gave, by field. */
export type Givens = ReadonlyMap<FieldName, Given>;

/** Returns the name of the origin: the flag, the variable, or the key with the file and its line. */
export function sourceOf({ field, origin }: Given): string {
  switch (origin.kind) {
    case 'flag':
      return flagOfField(field);
    case 'variable':
      return origin.name;
    case 'file':
      return `${field} (${origin.file} line ${origin.line})`;
  }
}

/** Returns the origin together with the text of the value, without the text if it is a secret. */
export function quote(given: Given, text: string): string {
  const { field, origin } = given;
  if (fieldOf(field).type === 'secret') return sourceOf(given);
  const shown = shorten(text);
  if (origin.kind === 'file') return `${field}: ${shown} (${origin.file} line ${origin.line})`;
  return `${sourceOf(given)} ${shown}`;
}

// The maximum length of a quoted value in characters. It is enough for the paths and templates that people write.
const SHOWN_MAX = 100;

function shorten(text: string): string {
  const clean = redactText(text);
  const cut = clean.length > SHOWN_MAX ? `${clean.slice(0, SHOWN_MAX)}...` : clean;
  return cut === '' || /[\s\p{Cc}]/u.test(cut) ? JSON.stringify(cut) : cut;
}

/** Writes a valid value in the form in which the invalid value was given. */
export function asGiven({ field, origin }: Given, text: string): string {
  switch (origin.kind) {
    case 'flag':
      return fieldOf(field).type === 'switch'
        ? flagOfField(field)
        : `${flagOfField(field)} ${shellWord(text)}`;
    case 'variable':
      return `${origin.name}=${shellWord(text)}`;
    case 'file':
      return `${field}: ${text}`;
  }
}

/** Returns what the operator can do to remove the value. */
export function howToRemove(given: Given): string {
  return given.origin.kind === 'variable' ? `unset ${given.origin.name}` : `leave ${sourceOf(given)} out`;
}

/** Returns every way to give a field, for the hint about a missing value. */
export function waysToGive(field: FieldName): string {
  const { env, type } = fieldOf(field);
  if (type === 'secret') return `set ${env}`;
  return `give ${flagOfField(field)} ${shellWord(exampleOf(field))}${env === undefined ? '' : `, ${env}`} or ${field} in the config file`;
}

/** Quotes a text, if necessary, so that a POSIX shell reads it as one word. */
export function shellWord(text: string): string {
  return /^[\w/.,:%=@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The reason why a text is not valid, and an example of a valid text. */
export class Invalid {
  readonly why: string;
  readonly example: string | undefined;

  /** `example` is a valid value. Without it, the problem shows the example of the field. */
  constructor(why: string, example?: string) {
    this.why = why;
    this.example = example;
  }
}

/** The hint for a secret that is not valid. */
export const COPY_AGAIN = 'copy it again from the portal, or from what az cosmosdb keys list prints';

/** Returns the problem of a value that is not valid. */
export function problemWith(given: Given, text: string, invalid: Invalid): Problem {
  const isSecret = fieldOf(given.field).type === 'secret';
  return {
    from: sourceOf(given),
    message: `${quote(given, text)} is not valid`,
    why: invalid.why,
    hint: isSecret ? COPY_AGAIN : `for example ${asGiven(given, invalid.example ?? exampleOf(given.field))}`,
  };
}
