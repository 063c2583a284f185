/**
 * What a container may hold, by the answers its writers got: one state per document when every write was
 * answered, more when an answer never came. A document has one writer, and one write at a time.
 */
import { identityOf } from './replay.ts';
import type { Texts } from './sets.ts';
import { sentPart } from './texts.ts';

/** A document as it may be: gone, or with what was sent, and its whole text once that was seen. */
export type State = 'gone' | { readonly sent: string; readonly text?: string | undefined };

/** What came back of a request: never a document that was not there, or a status that a rule made. */
export interface Answer {
  readonly status: number;
  readonly text?: string | undefined;
  readonly retryAfterMs?: number;
}

export interface Tracked {
  readonly id: string;
  readonly pk: unknown;
  readonly identity: string;
  /** It has a lifetime: whatever it is, it may be gone. */
  readonly mortal: boolean;
  allowed: readonly State[];
}

/** Answers of fault rules and of a range that is busy, splitting or gone: nothing has been written. */
const REFUSALS: ReadonlySet<number> = new Set([410, 412, 424, 429, 449, 503]);

function fits(state: State, text: string | undefined): boolean {
  if (state === 'gone' || text === undefined) return state === 'gone' && text === undefined;
  return state.text === undefined ? sentPart(text) === state.sent : text === state.text;
}

function shown(states: readonly State[]): string {
  return states.map((state) => (state === 'gone' ? 'gone' : (state.text ?? state.sent))).join(' or ');
}

export class TrafficModel {
  readonly #tracked = new Map<string, Tracked>();

  track(id: string, pk: unknown, mortal: boolean): Tracked {
    const identity = identityOf(id, pk);
    const known = this.#tracked.get(identity);
    if (known !== undefined) return known;
    const tracked: Tracked = { id, pk, identity, mortal, allowed: ['gone'] };
    this.#tracked.set(identity, tracked);
    return tracked;
  }

  all(): Iterable<Tracked> {
    return this.#tracked.values();
  }

  /** What is wrong with a set of documents. */
  compare(stored: Texts): string[] {
    const wrong: string[] = [];
    for (const identity of stored.keys())
      if (!this.#tracked.has(identity)) wrong.push(`${identity} was never written`);
    for (const { identity, allowed } of this.#tracked.values()) {
      const text = stored.get(identity);
      if (!allowed.some((state) => fits(state, text)))
        wrong.push(`${identity} is ${text ?? 'gone'}; allowed: ${shown(allowed)}`);
    }
    return wrong.slice(0, 20);
  }
}

/** A write was answered. Gives whether it took effect. */
export function learn(tracked: Tracked, next: State, answer: Answer): boolean {
  const { status, text } = answer;
  if (status >= 200 && status < 300) {
    if (next !== 'gone' && text !== undefined && sentPart(text) !== next.sent)
      throw new Error(`${tracked.identity} was answered as ${text}; sent: ${next.sent}`);
    settle(tracked, [next === 'gone' ? next : { ...next, text }]);
    return true;
  }
  if (status === 404 || status === 409)
    narrow(tracked, (state) => (state === 'gone') === (status === 404), `a ${status}`);
  else if (!REFUSALS.has(status)) throw new Error(`${tracked.identity} was answered ${status}`);
  return false;
}

/** A write was not answered: it happened, or it did not. */
export function doubt(tracked: Tracked, next: State): void {
  settle(tracked, [...tracked.allowed, next]);
}

/** A read was answered. */
export function see(tracked: Tracked, text: string | undefined): void {
  narrow(tracked, (state) => fits(state, text), `a read of ${text ?? 'nothing'}`);
  if (text !== undefined) settle(tracked, [{ sent: sentPart(text), text }]);
}

function settle(tracked: Tracked, states: readonly State[]): void {
  tracked.allowed = tracked.mortal && !states.includes('gone') ? [...states, 'gone'] : states;
}

function narrow(tracked: Tracked, keeps: (state: State) => boolean, reason: string): void {
  const left = tracked.allowed.filter(keeps);
  if (left.length === 0)
    throw new Error(`${reason} of ${tracked.identity}, which can only be ${shown(tracked.allowed)}`);
  settle(tracked, left);
}
