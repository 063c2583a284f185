/** A container and a sample as the preflight finds them, for rules that only read them. */
import type { ContainerFacts } from '../../../src/cosmos/container/inspect.ts';
import type { SourceSample } from '../../../src/preflight/sample.ts';

export function containerFacts(more: Partial<ContainerFacts> = {}): ContainerFacts {
  return {
    name: { database: 'shop', container: 'orders' },
    account: { id: 'acme', multiWrite: false },
    rid: 'rid',
    etag: 'etag',
    keyPaths: ['/pk'],
    keyKind: 'hash-v2',
    hasSystemKey: false,
    defaultTtl: null,
    settings: {
      indexingPolicy: null,
      uniqueKeyPolicy: null,
      computedProperties: null,
      conflictResolutionPolicy: null,
      geospatialConfig: null,
      vectorEmbeddingPolicy: null,
      fullTextPolicy: null,
      clientEncryptionPolicy: null,
    },
    analyticalTtl: null,
    changeFeedPolicy: null,
    dataMaskingPolicy: null,
    throughput: { kind: 'manual', ru: 1000 },
    documentCount: 1000,
    sizeBytes: 1_000_000,
    definition: {},
    ...more,
  };
}

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
