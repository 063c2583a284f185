/**
 * Comparisons in a process of its own that does nothing else: `node verify-client.js ENDPOINT KEY N...` compares N
 * documents with the same N for each N, and prints what each took as a line of JSON.
 */
import { keepYoungGenerationSmall } from '../src/lib/heap.ts';

// As bin/cosmig.js does: before the large modules.
keepYoungGenerationSmall();
const { measure } = await import('./verify-measure.ts');

const [endpoint = '', key = '', ...counts] = process.argv.slice(2);
for (const count of counts) {
  const took = await measure(endpoint, key, Number(count));
  process.stdout.write(`${JSON.stringify(took)}\n`);
}
