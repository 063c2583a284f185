/**
 * Reads a sample of the documents a second time, with JSON.parse instead of the scan. The mover and the sums both use
 * the scan, so a bug of the scan would have the same effect on both sides and stay hidden. Invariant: this file uses
 * nothing of the scan.
 */
import { hash } from 'node:crypto';
import { IdentityHasher } from '../../documents/identity.ts';
import { SYSTEM_PROPERTIES } from '../../documents/system-properties.ts';
import type { SideName } from '../../cosmos/side.ts';
import { valueAt } from '../../keys/path.ts';
import { KeyPlan } from '../../keys/plan.ts';
import type { RekeyOptions } from '../../keys/rekey.ts';
import { composite, type Path, type Value } from '../../keys/strategies/strategy.ts';
import { assert } from '../../lib/assert.ts';
import { InternalError } from '../../lib/errors.ts';

/** Selects one document in 256. The choice depends on the identity only, so it is the same on both sides. */
const SAMPLE_MASK = 0xff;

export function isSampled(identity: Uint32Array, at: number): boolean {
  return ((identity[at + 3] ?? 0) & SAMPLE_MASK) === 0;
}

export class JsonCrossCheck {
  /** The paths of the source key; or the plan that computes it. */
  readonly #key: readonly Path[] | KeyPlan;
  readonly #omitted: readonly Path[];
  readonly #hasher = new IdentityHasher();
  readonly #words = new Uint32Array(4);

  /** `cut`: the system properties to leave out. A document from a feed has others than one from a point read. */
  constructor(
    side: SideName,
    { plan, ttl, compared }: Pick<RekeyOptions, 'plan' | 'ttl' | 'compared'>,
    cut: readonly string[] = SYSTEM_PROPERTIES,
  ) {
    this.#key = side === 'source' ? plan.sourcePaths : (plan.identity ?? plan.sourcePathsInTarget);
    // A `ttl` that the mover rewrites is left out: the times of expiry are compared instead (expiry.ts).
    const rewritten = ttl.mode === 'restart' && compared?.ignoresTtl !== true ? [] : [['ttl']];
    this.#omitted = [...cut.map((name) => [name]), ...plan.additionPaths, ...rewritten];
  }

  /** Writes the content hash of a document to `out[at]`; throws if JSON.parse finds another identity than the scan. */
  read(json: Buffer, identity: Uint32Array, out: Uint32Array, at: number): void {
    const document: unknown = JSON.parse(json.toString());
    this.#checkIdentity(document, identity);
    for (const path of this.#omitted) omit(document, path);
    const digest = hash('sha256', sortedText(document), 'buffer');
    for (let i = 0; i < 4; i += 1) out[at + i] = digest.readUInt32LE(4 * i);
  }

  /** Returns the content hash of a document as text. */
  text(json: Buffer, identity: Uint32Array): string {
    const words = new Uint32Array(4);
    this.read(json, identity, words, 0);
    return [...words].join(' ');
  }

  #checkIdentity(document: unknown, identity: Uint32Array): void {
    const key = this.#keyOf(document);
    if (key === undefined) return;
    const values: readonly Value[] = [valueAt(document, ['id']), ...key];
    this.#hasher.clear();
    // The service takes an object or an array at a key path for a missing value.
    for (const value of values) this.#hasher.add(value === composite ? undefined : value);
    this.#hasher.finish(this.#words, 0);
    const isSame = this.#words.every((word, i) => word === identity[i]);
    if (!isSame) throw new InternalError('the scan and JSON.parse agree on the identity of a document');
  }

  /** Returns the levels of the source key; undefined if the document cannot be a copy. */
  #keyOf(document: unknown): readonly Value[] | undefined {
    if (!(this.#key instanceof KeyPlan)) return this.#key.map((path) => valueAt(document, path));
    const computed = this.#key.compute(this.#key.inputs.map((path) => valueAt(document, path)));
    return computed.kind === 'key' ? computed.values : undefined;
  }
}

/** Removes the value at a path, and then each object on the path that has become empty. */
function omit(value: unknown, [step, ...rest]: Path): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || step === undefined) return;
  if (!Object.hasOwn(value, step)) return;
  if (rest.length > 0) {
    const below: unknown = Object.getOwnPropertyDescriptor(value, step)?.value;
    omit(below, rest);
    const isLeft = typeof below !== 'object' || below === null || Array.isArray(below);
    if (isLeft || Object.keys(below).length > 0) return;
  }
  assert(Reflect.deleteProperty(value, step), 'a parsed property can be deleted');
}

/** Returns JSON text in which the properties of every object are sorted by name. */
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
