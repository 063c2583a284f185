/** The options by which documents of the source are re-keyed: the same for preflight, engine and verifier. */
import type { KeyKind } from '../epk/effective-key.ts';
import type { RekeyOptions } from '../keys/rekey.ts';
import { parsePath } from '../keys/path.ts';
import type { Path } from '../keys/strategies/strategy.ts';
import { turnedPlans } from '../keys/back-plan.ts';
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

/**
 * Returns the options for re-keying. `target` is null when cosmig will create the target. Source and target are those of
 * the turn: in a turn back, the source is the container with the new key.
 */
export function rekeyOptionsOf(
  spec: MigrationSpec,
  source: Facts,
  target: Pick<Facts, 'keyKind' | 'keyPaths'> | null,
): RekeyOptions {
  const kind = target?.keyKind ?? (spec.partitionKey.length > 1 ? 'multi-hash' : 'hash-v2');
  const { defaultTtl } = source;
  // Without TTL in the source, the property `ttl` of a document has no effect.
  const isRewritten = spec.ttl === 'remaining' && defaultTtl !== null;
  const limited = kind === 'hash-v1' ? { keyBytesMax: KEY_BYTES_MAX_V1 } : {};
  return {
    ...plansOf(spec, { source, target, limited }),
    kind,
    ttl: isRewritten ? { mode: 'remaining', defaultTtl } : { mode: 'restart' },
  };
}

/** Returns the plan of the turn, and the forms in which documents are compared. */
function plansOf(
  spec: MigrationSpec,
  {
    source,
    target,
    limited,
  }: {
    readonly source: Facts;
    readonly target: Pick<Facts, 'keyPaths'> | null;
    readonly limited: { readonly keyBytesMax?: number };
  },
): Pick<RekeyOptions, 'plan' | 'compared'> {
  const { turn } = spec;
  if (turn === undefined) return { plan: planFor(spec, source.keyPaths, limited) };
  const ignoresTtl = spec.ttl === 'remaining';
  if (!leadsBack(turn.number)) {
    const plan = planFor(spec, source.keyPaths, { ...limited, presentWins: true });
    return turnedPlans(plan, { direction: 'forth', ignoresTtl });
  }
  const { keyPaths } = must(target, 'the containers of a turn back exist');
  const forth = planFor(spec, keyPaths, { presentWins: true });
  return turnedPlans(forth, { direction: 'back', ignoresTtl, ...limited });
}

/** Returns the path of the property that marks deleted documents; null when deletes are detected in another way. */
export function markerOf(deletes: Deletes): Path | null {
  return deletes.kind === 'marker' ? parsePath(deletes.path) : null;
}
