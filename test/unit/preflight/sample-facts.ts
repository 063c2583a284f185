/** A sample as the preflight takes it, for rules that only read it. */
import type { SourceSample } from '../../../src/preflight/sample.ts';

export const NONE_REFUSED: SourceSample['refused'] = {
  'missing-key': 0,
  'invalid-key': 0,
  'key-conflict': 0,
  'too-large': 0,
  'key-too-long': 0,
  'bad-id': 0,
};

/** A thousand documents with a key of their own. */
export function sampleOf(more: Partial<SourceSample> = {}): SourceSample {
  return {
    documents: 1000,
    isWhole: true,
    missing: 0,
    refused: NONE_REFUSED,
    expired: 0,
    collisions: 0,
    collided: [],
    distinct: 1000,
    distinctFirst: 1000,
    biggest: [{ values: ['a'], documents: 1 }],
    withTtl: 0,
    averageBytes: 1024,
    averageKeyBytes: 20,
    averageTerms: 10,
    readRu: 1,
    ...more,
  };
}
