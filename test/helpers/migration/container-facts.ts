/** A container as cosmig sees it: created by an application, with nothing special about it. */
import type { ContainerFacts } from '../../../src/cosmos/container/inspect.ts';

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
