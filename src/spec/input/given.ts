/**
 * A value as the operator gave it, and where: so that a problem names the flag, the variable or the line of the file, and
 * the hint shows the fix in the same place. Invariant: a secret is named and never repeated.
 */
import type { Problem } from '../../lib/errors.ts';
import { redactText } from '../../lib/log.ts';
import { exampleOf, fieldOf, flagOfField, type FieldName } from '../fields.ts';

/** Where a value came from. */
export type Origin =
  | { readonly kind: 'flag' }
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'file'; readonly file: string; readonly line: number };

/** The texts of one field: one, or several for a list. */
export interface Given {
  readonly field: FieldName;
  readonly texts: readonly string[];
  readonly origin: Origin;
}

/** What was given, by field. */
export type Givens = ReadonlyMap<FieldName, Given>;

/** The flag, the variable, or the line and the key. */
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

/** The same with the value, as it stood there. */
export function quote(given: Given, text: string): string {
  const { field, origin } = given;
  if (fieldOf(field).type === 'secret') return sourceOf(given);
  const shown = shorten(text);
  if (origin.kind === 'file') return `${field}: ${shown} (${origin.file} line ${origin.line})`;
  return `${sourceOf(given)} ${shown}`;
}

// Long enough for the paths and templates that people write.
const SHOWN_MAX = 100;

function shorten(text: string): string {
  const clean = redactText(text);
  const cut = clean.length > SHOWN_MAX ? `${clean.slice(0, SHOWN_MAX)}...` : clean;
  return cut === '' || /[\s\p{Cc}]/u.test(cut) ? JSON.stringify(cut) : cut;
}

/** A valid value, written in the place where the invalid one came from. */
export function inPlace({ field, origin }: Given, text: string): string {
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

/** How to remove it. */
export function howToRemove(given: Given): string {
  return given.origin.kind === 'variable' ? `unset ${given.origin.name}` : `leave ${sourceOf(given)} out`;
}

/** Every way to give a field, for one that is missing. */
export function waysToGive(field: FieldName): string {
  const { env, type } = fieldOf(field);
  if (type === 'secret') return `set ${env}`;
  return `give ${flagOfField(field)} ${shellWord(exampleOf(field))}${env === undefined ? '' : `, ${env}`} or ${field} in the config file`;
}

/** As a POSIX shell reads it back. */
export function shellWord(text: string): string {
  return /^[\w/.,:%=@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A text that is not valid: why, and what would be. */
export class Invalid {
  readonly why: string;
  readonly example: string | undefined;

  /** `example` is a valid value; without it, the field's own is shown. */
  constructor(why: string, example?: string) {
    this.why = why;
    this.example = example;
  }
}

/** The hint for a secret that is not valid. */
export const COPY_AGAIN = 'copy it again from the portal, or from what az cosmosdb keys list prints';

/** The problem with a value. */
export function problemWith(given: Given, text: string, invalid: Invalid): Problem {
  const isSecret = fieldOf(given.field).type === 'secret';
  return {
    from: sourceOf(given),
    message: `${quote(given, text)} is not valid`,
    why: invalid.why,
    hint: isSecret ? COPY_AGAIN : `for example ${inPlace(given, invalid.example ?? exampleOf(given.field))}`,
  };
}
