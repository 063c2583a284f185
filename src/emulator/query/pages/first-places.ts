/** The first few of many places: memory for twice the wanted count, however many are offered. */
import type { OrderKey } from './order-key.ts';

export interface OrderedPosition {
  readonly key: OrderKey;
  readonly position: number;
}

/** Sorting less often than this is not worth counting for small pages. */
const SLACK_MIN = 64;

export class FirstPlaces {
  readonly #countMax: number;
  readonly #compare: (left: OrderedPosition, right: OrderedPosition) => number;
  #places: OrderedPosition[] = [];
  /** Nothing at or behind this one can be among the first. */
  #last: OrderedPosition | undefined;

  constructor(countMax: number, compare: (left: OrderedPosition, right: OrderedPosition) => number) {
    this.#countMax = countMax;
    this.#compare = compare;
  }

  wants(place: OrderedPosition): boolean {
    return this.#last === undefined || this.#compare(place, this.#last) < 0;
  }

  add(place: OrderedPosition): void {
    this.#places.push(place);
    if (this.#places.length >= this.#countMax + Math.max(SLACK_MIN, this.#countMax)) this.sorted();
  }

  sorted(): readonly OrderedPosition[] {
    this.#places.sort(this.#compare);
    if (this.#places.length >= this.#countMax) {
      this.#places.length = this.#countMax;
      this.#last = this.#places.at(-1);
    }
    return this.#places;
  }
}
