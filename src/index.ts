/** The public library: what applications may import from `cosmig`. */
export {
  effectiveKey,
  keyKindOf,
  type KeyComponent,
  type KeyDefinition,
  type KeyKind,
} from './keys/effective-key.ts';
