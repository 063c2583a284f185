/** `--like-source`: which settings; read before anything is connected to. */
import type { Changeable } from '../cosmos/container/update.ts';
import { UsageError } from '../lib/errors.ts';
import { nearest } from '../lib/nearest.ts';

const CHANGEABLE = ['ttl', 'indexing', 'throughput'] as const satisfies readonly Changeable[];

/** What was typed, checked. */
export function readLikeSource(text: string | undefined): readonly Changeable[] {
  if (text === undefined) return [];
  return text.split(',').map((one) => {
    const name = one.trim();
    const known = CHANGEABLE.find((each) => each === name);
    if (known !== undefined) return known;
    const near = nearest(name, CHANGEABLE);
    throw new UsageError(`--like-source ${text} is not possible`, {
      why: `${name === '' ? 'nothing' : name} is not one of ${CHANGEABLE.join(', ')}`,
      hint: near === undefined ? 'write for instance --like-source ttl,indexing' : `did you mean ${near}?`,
    });
  });
}
