/**
 * Text that becomes part of a page. Invariant: a text reaches a page only through the template `markup`, which escapes it;
 * what a document says cannot become an element, an attribute, or a character that hides or reorders text.
 */
import { printableLine } from '../../lib/json/printable.ts';

/** Markup that is complete and safe to insert into a page. */
export class Markup {
  readonly text: string;

  /** `text` is markup already: only templates and constants of this program get here. */
  constructor(text: string) {
    this.text = text;
  }
}

export type Insertable = Markup | string | number | null | readonly Insertable[];

/** A template of markup: texts in it are escaped, markup is inserted as it is, null is left out. */
export function markup(parts: TemplateStringsArray, ...inserted: readonly Insertable[]): Markup {
  return new Markup(
    parts
      .map((part, index) => part + (index < inserted.length ? inserting(inserted[index] ?? null) : ''))
      .join(''),
  );
}

export const NOTHING = new Markup('');

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes a text for the content of an element and for a quoted attribute. */
export function escapeMarkup(text: string): string {
  return printableLine(text).replaceAll(/[&<>"']/g, (mark) => ENTITIES[mark] ?? mark);
}

/** Rounds a coordinate: hundredths are finer than any screen. */
export function at(value: number): number {
  return Number.isFinite(value) ? Math.round(value * 100) / 100 : 0;
}

function inserting(value: Insertable): string {
  if (value === null) return '';
  if (value instanceof Markup) return value.text;
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return escapeMarkup(value);
  return value.map(inserting).join('');
}
