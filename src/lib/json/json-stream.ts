/**
 * Reads JSON values from a stream of bytes, one at a time: separate values in any layout, usually one per line, or the
 * items of one array. Invariant: at most one value is in memory, and an error names its line.
 */
import { UsageError } from '../errors.ts';

/** A value and the line in which it begins. */
export interface JsonItem {
  readonly value: unknown;
  readonly line: number;
}

/** The length of the longest value: four times the largest document of Cosmos DB. */
const ITEM_UNITS_MAX = 8 * 1024 * 1024;

const HINT = 'give one JSON object per line, or one array of objects';

/** Yields the values in `chunks`. Errors call the input `name`. */
export async function* readJson(chunks: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<JsonItem> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const splitter = new Splitter(name);
  const decode = (chunk?: Uint8Array): string => {
    try {
      return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
    } catch (error) {
      throw new UsageError(`${name} is not UTF-8 text`, {
        why: `bytes around line ${splitter.line} are not valid UTF-8`,
        hint: 'convert it, for instance with: iconv -f UTF-16 -t UTF-8',
        cause: error,
      });
    }
  };
  for await (const chunk of chunks) yield* splitter.push(decode(chunk));
  yield* splitter.push(decode());
  yield* splitter.end();
}

/** Finds where values begin and end. JSON.parse then checks each value. */
class Splitter {
  line = 1;
  readonly #name: string;
  /** The text of a value whose end has not been found yet; empty between two values. */
  #rest = '';
  #itemLine = 1;
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  /**
   * `#inItem`: whether a value has begun and has not ended. `#arrayLine`: the line in which the array around the values
   * begins; undefined outside an array. `#needsComma`: whether an item of the array has just ended, so that a comma or
   * the end must follow. `#needsItem`: whether a comma has just followed an item, so that another item must follow.
   */
  #inItem = false;
  #arrayLine: number | undefined;
  #needsComma = false;
  #needsItem = false;

  constructor(name: string) {
    this.#name = name;
  }

  *push(chunk: string): Generator<JsonItem> {
    const text = this.#rest + chunk;
    let start = 0;
    for (let at = this.#rest.length; at < text.length; at += 1) {
      const character = text.charAt(at);
      if (!this.#inItem && this.#begins(character)) {
        start = at;
        this.#itemLine = this.line;
        this.#inItem = true;
      }
      if (this.#inItem) {
        const end = this.#endAt(character, at);
        if (end !== undefined) {
          // A stray bracket or comma counts as a value, which JSON.parse refuses.
          yield this.#parse(text.slice(start, Math.max(end, start + 1)));
          this.#inItem = false;
          this.#needsComma = this.#arrayLine !== undefined;
          this.#needsItem = false;
          // The character after a bare word does not belong to it.
          if (end === at) this.#begins(character);
        }
      }
      if (character === '\n') this.line += 1;
    }
    this.#rest = this.#inItem ? text.slice(start) : '';
    if (this.#rest.length > ITEM_UNITS_MAX) {
      throw this.#wrong(
        this.#itemLine,
        `the value that begins there is longer than ${ITEM_UNITS_MAX} characters`,
      );
    }
  }

  *end(): Generator<JsonItem> {
    if (this.#inItem) {
      if (this.#depth > 0 || this.#inString) {
        throw this.#wrong(this.#itemLine, 'the input ends before the value that begins there does');
      }
      yield this.#parse(this.#rest);
    }
    if (this.#arrayLine !== undefined)
      throw this.#wrong(this.#arrayLine, 'the input ends before the array that begins there does');
  }

  /** Returns whether a value begins with this character. Handles the brackets and commas of an array around values. */
  #begins(character: string): boolean {
    if (' \t\r\n'.includes(character)) return false;
    const inArray = this.#arrayLine !== undefined;
    if (character === ']' && inArray) {
      if (this.#needsItem) throw this.#wrong(this.line, 'after a comma the array ends, without another item');
      this.#arrayLine = undefined;
      this.#needsComma = false;
      return false;
    }
    if (this.#needsComma) {
      if (character !== ',')
        throw this.#wrong(this.line, 'a comma is missing between the items of the array');
      this.#needsComma = false;
      this.#needsItem = true;
      return false;
    }
    if (character === '[' && !inArray) {
      this.#arrayLine = this.line;
      return false;
    }
    return true;
  }

  /**
   * Returns where the value ends, if this character ends it: after a closing quote or bracket, or before the character
   * that follows a number or a word. Undefined: the value continues.
   */
  #endAt(character: string, at: number): number | undefined {
    if (this.#inString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (character === '\\') this.#isEscaped = true;
      else if (character === '"') this.#inString = false;
      return this.#inString || this.#depth > 0 ? undefined : at + 1;
    }
    switch (character) {
      case '"':
        this.#inString = true;
        return undefined;
      case '{':
      case '[':
        this.#depth += 1;
        return undefined;
      case '}':
      case ']':
        if (this.#depth === 0) return at;
        this.#depth -= 1;
        return this.#depth === 0 ? at + 1 : undefined;
      default:
        return this.#depth === 0 && ' \t\r\n,'.includes(character) ? at : undefined;
    }
  }

  #parse(text: string): JsonItem {
    try {
      return { value: JSON.parse(text), line: this.#itemLine };
    } catch (error) {
      const said = error instanceof Error ? error.message : String(error);
      // Node reports the position of some mistakes only. It also quotes a piece of the document, which is removed here.
      const position = /at position (\d+)/.exec(said)?.[1];
      const why = said.replace(/ in JSON at position.*|, (?:"|\.{3}")[\s\S]*/, '');
      if (position === undefined)
        throw this.#wrong(this.#itemLine, `${why} in the value that begins there`, error);
      const linesBefore = text.slice(0, Number(position)).split('\n').length - 1;
      throw this.#wrong(this.#itemLine + linesBefore, why, error);
    }
  }

  #wrong(line: number, why: string, cause?: unknown): UsageError {
    return new UsageError(`${this.#name} is not JSON at line ${line}`, {
      why,
      hint: HINT,
      cause,
      details: { line },
    });
  }
}
