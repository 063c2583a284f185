/**
 * Applies the new key to a few documents of the source, in the words of the preflight of `cosmig copy`. Invariant: what
 * is counted here is true of the sample alone; findings that need a larger one are left to `cosmig copy --dry-run`.
 */
import { Governor } from '../cosmos/load/governor.ts';
import { ruOf } from '../cosmos/container/throughput.ts';
import type { Clock } from '../lib/clock.ts';
import { formatCount } from '../lib/counting.ts';
import { refusedText, warningsOf, type Warning } from '../preflight/findings.ts';
import { rateOf } from '../preflight/inspect.ts';
import type { ProbeParts } from '../preflight/permissions.ts';
import { takeSample } from '../preflight/sample.ts';
import type { SourceSlotsParts } from '../preflight/source-slots.ts';
import type { MigrationSpec } from '../spec/migration-spec.ts';
import { rekeyOptionsOf } from '../spec/rekey-options.ts';
import type { Found } from './check.ts';

/** Enough to notice a path that documents do not have, and read within a second. */
const SAMPLE_MAX = 500;

/** The findings of a small sample. How many values a key has, and how large they are, needs a larger one. */
const SEEN_IN_FEW: ReadonlySet<Warning['kind']> = new Set([
  'same-key',
  'no-key',
  'most-lack-key',
  'most-refused',
  'collisions',
]);

export interface SampledKeyParts {
  readonly spec: MigrationSpec;
  readonly source: SourceSlotsParts['source'];
  readonly asked: ProbeParts;
  readonly clock: Clock;
}

export async function sampledKey({ spec, source, asked, clock }: SampledKeyParts): Promise<Found> {
  const { random } = asked;
  const { facts } = source;
  const sample = await takeSample(asked.requests, rekeyOptionsOf(spec, facts, null), {
    ...asked,
    source,
    clock,
    governor: new Governor({
      clock,
      random,
      ruPerSecond: rateOf('source', spec.sourceBudget, facts.throughput),
    }),
    containerRu: ruOf(facts.throughput),
    documentsMax: SAMPLE_MAX,
  });
  const { documents, distinct, missing, refused } = sample;
  if (documents === 0) return { message: 'it has no documents yet, so the new key was not tried' };
  const warnings = warningsOf({ spec, source: facts, target: null, sample, differences: [] });
  const [first, ...others] = warnings.filter(({ kind }) => SEEN_IN_FEW.has(kind));
  if (first !== undefined) {
    const more = others.map(({ message }) => `; ${message}`).join('');
    return { message: `${first.message}${more}`, warning: first };
  }
  const { 'missing-key': without, ...cannot } = refused;
  const having = documents - missing - without;
  const values = `${formatCount(distinct)} ${distinct === 1 ? 'value' : 'values'}`;
  const left = refusedText({ ...cannot, 'missing-key': 0 });
  return {
    message: `${formatCount(having)} of ${formatCount(documents)} sampled documents have the key ${spec.partitionKey.join(', ')}, with ${values}${left === '' ? '' : `; some cannot be moved: ${left}`}`,
  };
}
