/** How much memory is in use, without garbage: when that is collected depends on what else ran in this process. */
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/**
 * What is left when nothing else can be thrown away, or no more than `enough`. The buffers of sockets are freed a while
 * after their last use.
 */
export async function usedBytes(enough = 0): Promise<number> {
  let least = Infinity;
  for (let tries = 0; tries < 10 && least > enough; tries += 1) {
    await delay(50);
    collect();
    const { heapUsed, external } = process.memoryUsage();
    least = Math.min(least, heapUsed + external);
  }
  return least;
}
