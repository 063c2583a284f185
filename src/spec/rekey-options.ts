/** How documents of the source become documents of the target: the same for preflight, engine and verifier. */
import type { KeyKind } from '../epk/effective-key.ts';
import type { RekeyOptions } from '../keys/rekey.ts';
import { parsePath } from '../keys/path.ts';
import type { Path } from '../keys/strategies/strategy.ts';
import { planFor } from './key-rules.ts';
import type { Deletes, MigrationSpec } from './migration-spec.ts';

/** Without large partition keys (fact SVC-4). */
const KEY_BYTES_MAX_V1 = 101;

/** The facts of a container that matter here. */
interface Facts {
  readonly keyPaths: readonly string[];
  readonly keyKind: KeyKind;
  /** Seconds; -1: on, without a default; null: off. */
  readonly defaultTtl: number | null;
}

/** A target of null is one that cosmig will create. */
export function rekeyOptionsOf(
  spec: MigrationSpec,
  source: Facts,
  target: Pick<Facts, 'keyKind'> | null,
): RekeyOptions {
  const kind = target?.keyKind ?? (spec.partitionKey.length > 1 ? 'multi-hash' : 'hash-v2');
  const { defaultTtl } = source;
  // Where the source has no TTL, a `ttl` in a document means nothing.
  const isRewritten = spec.ttl === 'remaining' && defaultTtl !== null;
  return {
    plan: planFor(spec, source.keyPaths, kind === 'hash-v1' ? KEY_BYTES_MAX_V1 : undefined),
    kind,
    ttl: isRewritten ? { mode: 'remaining', defaultTtl } : { mode: 'restart' },
  };
}

/** The property that marks a document as deleted, if deletes are found by one. */
export function markerOf(deletes: Deletes): Path | null {
  return deletes.kind === 'marker' ? parsePath(deletes.path) : null;
}
