/**
 * Measures comparisons in a process that does nothing else. `node verify-client.js TTL ENDPOINT KEY N...` compares
 * two containers of N documents for each N, with `--ttl TTL`, and prints the measurement of each comparison as a line of
 * JSON.
 */
import { keepYoungGenerationSmall } from '../src/lib/heap.ts';

// Called before the large modules are loaded, as in bin/cosmig.js.
keepYoungGenerationSmall();
const { measure } = await import('./verify-measure.ts');

const [how, endpoint = '', key = '', ...counts] = process.argv.slice(2);
const ttl = how === 'remaining' ? how : 'restart';
for (const count of counts) {
  const took = await measure({ endpoint, key, ttl }, Number(count));
  process.stdout.write(`${JSON.stringify(took)}\n`);
}
