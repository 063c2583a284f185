/**
 * Splits text into records of CSV, piece by piece: quoted fields with commas, quotes and lines in them, any line ends,
 * and commas, semicolons or tabs between fields, whichever the first line has most of.
 */

export interface CsvRecord {
  readonly fields: readonly string[];
  /** Whether the text ended inside of a quoted field. */
  readonly isCut: boolean;
}

/** No query has this many characters. A record that is longer has a quote which is never closed. */
const RECORD_MAX = 4 * 1024 * 1024;
const SEPARATORS = [',', ';', '\t'] as const;

export function* readCsv(chunks: Iterable<string>): Generator<CsvRecord> {
  let [separator, rest] = ['', ''];
  const record = new RecordBuilder();
  for (const chunk of chunks) {
    let text = rest + chunk;
    rest = '';
    if (separator === '') {
      const end = text.search(/[\r\n]/);
      if (end < 0 && text.length < RECORD_MAX) {
        rest = text;
        continue;
      }
      separator = separatorOf(end < 0 ? text : text.slice(0, end));
    }
    // The last character may be half of a doubled quote or of a line end.
    rest = text.slice(-1);
    text = text.slice(0, -1);
    yield* record.read(text, rest, separator);
    if (record.length > RECORD_MAX) {
      yield { fields: [], isCut: true };
      return;
    }
  }
  yield* record.read(rest, '', separator === '' ? separatorOf(rest) : separator);
  yield* record.end();
}

function separatorOf(line: string): string {
  const unquoted = line.replaceAll(/"[^"]*"/g, '');
  const count = (one: string): number => unquoted.split(one).length;
  return SEPARATORS.reduce((best, one) => (count(one) > count(best) ? one : best), ',');
}

class RecordBuilder {
  #fields: string[] = [];
  #field = '';
  #isQuoted = false;
  /** Whether the field began with a quote, so that it is not empty even if it has no text. */
  #wasQuoted = false;
  /** Whether the next character is the second one of a pair that was read as one. */
  #skips = false;

  get length(): number {
    return this.#field.length;
  }

  /** Reads the characters of `text`; `next` is the one that follows. */
  *read(text: string, next: string, separator: string): Generator<CsvRecord> {
    for (let at = 0; at < text.length; at += 1) {
      if (this.#skips) {
        this.#skips = false;
        continue;
      }
      const character = text.charAt(at);
      const following = at + 1 < text.length ? text.charAt(at + 1) : next;
      if (this.#isQuoted) {
        if (character !== '"') this.#field += character;
        else if (following === '"') {
          this.#field += '"';
          this.#skips = true;
        } else this.#isQuoted = false;
      } else if (character === '"' && this.#field === '' && !this.#wasQuoted) {
        this.#isQuoted = true;
        this.#wasQuoted = true;
      } else if (character === separator) this.#endField();
      else if (character === '\n' || character === '\r') {
        this.#skips = character === '\r' && following === '\n';
        yield* this.#endRecord();
      } else this.#field += character;
    }
  }

  *end(): Generator<CsvRecord> {
    if (this.#isQuoted) yield { fields: [...this.#fields, this.#field], isCut: true };
    else yield* this.#endRecord();
  }

  #endField(): void {
    this.#fields.push(this.#field);
    this.#field = '';
    this.#wasQuoted = false;
  }

  *#endRecord(): Generator<CsvRecord> {
    const isEmpty = this.#fields.length === 0 && this.#field === '' && !this.#wasQuoted;
    if (isEmpty) return;
    this.#endField();
    const fields = this.#fields;
    this.#fields = [];
    yield { fields, isCut: false };
  }
}
