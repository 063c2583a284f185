/**
 * A second opinion on a sample of the documents, by JSON.parse instead of the scan: who a document is, and what is in
 * it. The mover and the sums read documents by the same scan, so a mistake of that would show on neither side. What
 * always holds: nothing of the scan is used here.
 */
import { hash } from 'node:crypto';
import { IdentityHasher } from '../../documents/identity.ts';
import { SYSTEM_PROPERTIES } from '../../documents/system-properties.ts';
import type { KeyPlan } from '../../keys/plan.ts';
import { valueAt } from '../../keys/path.ts';
import { composite, type Path } from '../../keys/strategies/strategy.ts';
import { assert } from '../../lib/assert.ts';
import { InternalError } from '../../lib/errors.ts';

/** One of so many; the same documents on both sides. */
const SAMPLE_MASK = 0xff;

export function isSampled(identity: Uint32Array, at: number): boolean {
  return ((identity[at + 3] ?? 0) & SAMPLE_MASK) === 0;
}

export class Guard {
  readonly #keyPaths: readonly Path[];
  readonly #omitted: readonly Path[];
  readonly #hasher = new IdentityHasher();
  readonly #words = new Uint32Array(4);

  /** `keyPaths` say where a document of this side has its source key. */
  constructor(
    plan: KeyPlan,
    { keyPaths, ttl }: { readonly keyPaths: readonly Path[]; readonly ttl: 'compared' | 'left out' },
  ) {
    this.#keyPaths = keyPaths;
    const own = ttl === 'compared' ? [] : [['ttl']];
    this.#omitted = [...SYSTEM_PROPERTIES.map((name) => [name]), ...plan.additionPaths, ...own];
  }

  /** Puts the hash of what a document means at `out[at]`; refuses a document that is not whom the scan takes it for. */
  read(json: Buffer, identity: Uint32Array, out: Uint32Array, at: number): void {
    const document: unknown = JSON.parse(json.toString());
    this.#checkIdentity(document, identity);
    for (const path of this.#omitted) omit(document, path);
    const digest = hash('sha256', sortedText(document), 'buffer');
    for (let i = 0; i < 4; i += 1) out[at + i] = digest.readUInt32LE(4 * i);
  }

  /** The same as text. */
  text(json: Buffer, identity: Uint32Array): string {
    const words = new Uint32Array(4);
    this.read(json, identity, words, 0);
    return [...words].join(' ');
  }

  #checkIdentity(document: unknown, identity: Uint32Array): void {
    const values = [['id'], ...this.#keyPaths].map((path) => valueAt(document, path));
    this.#hasher.clear();
    for (const value of values) {
      // Nobody can write such a key; how the scan tells two of them apart is its own business.
      if (value === composite) return;
      this.#hasher.add(value);
    }
    this.#hasher.finish(this.#words, 0);
    const isSame = this.#words.every((word, i) => word === identity[i]);
    if (!isSame) throw new InternalError('the scan and JSON.parse say the same of who a document is');
  }
}

/** Takes a value out, and with it the objects that have nothing else. */
function omit(value: unknown, [step, ...rest]: Path): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || step === undefined) return;
  if (!Object.hasOwn(value, step)) return;
  if (rest.length > 0) {
    const below: unknown = Object.getOwnPropertyDescriptor(value, step)?.value;
    omit(below, rest);
    const isLeft = typeof below !== 'object' || below === null || Array.isArray(below);
    if (isLeft || Object.keys(below).length > 0) return;
  }
  assert(Reflect.deleteProperty(value, step), 'what was parsed can be taken out');
}

/** JSON with the names of every object in one order. */
function sortedText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  let text = '';
  if (Array.isArray(value)) {
    for (const one of value as readonly unknown[]) text += `${text === '' ? '' : ','}${sortedText(one)}`;
    return `[${text}]`;
  }
  for (const name of Object.keys(value).sort()) {
    const one: unknown = Reflect.get(value, name);
    text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${sortedText(one)}`;
  }
  return `{${text}}`;
}
