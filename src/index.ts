/** The public library: everything that an application may import from `cosmig`. */
export { computeKey, prepareKey, type DocumentKey, type KeyRecipe } from './keys/compute-key.ts';
export {
  effectiveKey,
  keyKindOf,
  type KeyComponent,
  type KeyDefinition,
  type KeyKind,
} from './epk/effective-key.ts';
export { CosmigError, UsageError } from './lib/errors.ts';
