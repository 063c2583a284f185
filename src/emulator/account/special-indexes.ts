/**
 * Checks the parts of a container's definition that describe special indexes: spatial, vector and full-text. The
 * emulator keeps them and does not use them; queries that need such an index are refused.
 *
 * Invariant: a definition whose parts contradict each other is refused, as by the service.
 */
import { badRequest } from '../http/refusal.ts';
import { isObject, own, type JsonObject } from '../json/json-value.ts';

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

export function refuseContradictions(body: JsonObject): void {
  const indexing = own(body, 'indexingPolicy');
  checkSpatial(listOf(own(indexing, 'spatialIndexes')), own(own(body, 'geospatialConfig'), 'type'));
  const vectors = listOf(own(own(body, 'vectorEmbeddingPolicy'), 'vectorEmbeddings'));
  for (const vector of vectors) checkVector(vector);
  requirePaths('vector', listOf(own(indexing, 'vectorIndexes')), vectors);
  const texts = listOf(own(own(body, 'fullTextPolicy'), 'fullTextPaths'));
  requirePaths('full-text', listOf(own(indexing, 'fullTextIndexes')), texts);
}

/**
 * A spatial index of geometries needs a bounding box. An index of geographies covers the whole earth and must not have
 * a box.
 */
function checkSpatial(indexes: readonly unknown[], type: unknown): void {
  for (const index of indexes) {
    const isBounded = isObject(own(index, 'boundingBox'));
    if (isBounded === (type === 'Geometry')) continue;
    throw badRequest(
      `The spatial index of ${pathOf(index)} ${isBounded ? 'must not have' : 'needs'} a boundingBox, ` +
        `because the geospatialConfig of the container is ${isBounded ? 'Geography' : 'Geometry'}.`,
    );
  }
}

const VECTOR_TYPES: readonly unknown[] = ['float32', 'float16', 'int8', 'uint8'];
const DISTANCES: readonly unknown[] = ['cosine', 'euclidean', 'dotproduct'];

function checkVector(vector: unknown): void {
  const dimensions = own(vector, 'dimensions');
  const isValid =
    VECTOR_TYPES.includes(own(vector, 'dataType')) &&
    DISTANCES.includes(own(vector, 'distanceFunction')) &&
    Number.isInteger(dimensions) &&
    Number(dimensions) > 0;
  if (isValid) return;
  throw badRequest(
    `The vector embedding of ${pathOf(vector)} is invalid: it has a dataType (${VECTOR_TYPES.join(', ')}), a ` +
      `distanceFunction (${DISTANCES.join(', ')}) and dimensions from 1.`,
  );
}

/** Refuses an index of a path that the policy of the same kind (vector or full-text) does not list. */
function requirePaths(kind: string, indexes: readonly unknown[], policy: readonly unknown[]): void {
  const known = new Set(policy.map(pathOf));
  for (const index of indexes) {
    if (known.has(pathOf(index))) continue;
    throw badRequest(`The ${kind} index of ${pathOf(index)} needs the same path in the ${kind} policy.`);
  }
}

function pathOf(entry: unknown): string {
  const path = own(entry, 'path');
  if (typeof path === 'string' && path.startsWith('/')) return path;
  throw badRequest('Every spatial, vector and full-text path is a string that begins with /.');
}
