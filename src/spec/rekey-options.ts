/** The options by which documents of the source are re-keyed: the same for preflight, engine and verifier. */
import type { KeyKind } from '../epk/effective-key.ts';
import type { RekeyOptions } from '../keys/rekey.ts';
import { parsePath } from '../keys/path.ts';
import type { Path } from '../keys/strategies/strategy.ts';
import { makePlan, type KeyPlan } from '../keys/plan.ts';
import { must } from '../lib/assert.ts';
import { leadsBack } from './turns/settings-of-turn.ts';
import { planFor } from './key-rules.ts';
import type { Deletes, MigrationSpec } from './migration-spec.ts';

/** The maximum key length in bytes without large partition keys (fact SVC-4). */
const KEY_BYTES_MAX_V1 = 101;

/** What re-keying needs to know of a container. */
interface Facts {
  readonly keyPaths: readonly string[];
  readonly keyKind: KeyKind;
  /** The default TTL in seconds; -1 when TTL is on without a default; null when it is off. */
  readonly defaultTtl: number | null;
}

/** Returns the options for re-keying. `target` is null when cosmig will create the target. */
export function rekeyOptionsOf(
  spec: MigrationSpec,
  source: Facts,
  target: Pick<Facts, 'keyKind' | 'keyPaths'> | null,
): RekeyOptions {
  const kind = target?.keyKind ?? (spec.partitionKey.length > 1 ? 'multi-hash' : 'hash-v2');
  const { defaultTtl } = source;
  // Without TTL in the source, the property `ttl` of a document has no effect.
  const isRewritten = spec.ttl === 'remaining' && defaultTtl !== null;
  return {
    plan: planOf(spec, source, target, kind === 'hash-v1' ? KEY_BYTES_MAX_V1 : undefined),
    kind,
    ttl: isRewritten ? { mode: 'remaining', defaultTtl } : { mode: 'restart' },
  };
}

function planOf(
  spec: MigrationSpec,
  source: Facts,
  target: Pick<Facts, 'keyPaths'> | null,
  keyBytesMax: number | undefined,
): KeyPlan {
  if (spec.turn === undefined || !leadsBack(spec.turn.number))
    return planFor(spec, source.keyPaths, keyBytesMax);
  // On the way back the key is the one that documents had first. They still have it.
  const partitionKey = must(target, 'the container of the first copy is there').keyPaths;
  return makePlan({ sourcePaths: source.keyPaths, partitionKey, derive: [], missingKey: spec.missingKey });
}

/** Returns the path of the property that marks deleted documents; null when deletes are detected in another way. */
export function markerOf(deletes: Deletes): Path | null {
  return deletes.kind === 'marker' ? parsePath(deletes.path) : null;
}
