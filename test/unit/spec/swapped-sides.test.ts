import { expect, test } from 'vitest';
import { swapValues, swapWords } from '../../../src/spec/turns/swapped-sides.ts';

test.each([
  ['committed: the target is in use', 'committed: the source is in use'],
  ['run cosmig tail, then cosmig cutover', 'run cosmig reverse, then cosmig rollback'],
  ['run cosmig copy or cosmig tail once', 'run cosmig reverse once'],
  [
    'run cosmig copy, then cosmig tail, then cosmig verify',
    'run cosmig reverse, then cosmig verify --reverse',
  ],
  ['run cosmig copy until it ends, then cosmig tail', 'run cosmig reverse'],
  ['run cosmig verify --repair', 'run cosmig verify --reverse --repair'],
  ['run cosmig verify --reverse', 'run cosmig verify'],
  [
    'a cutover was interrupted, and writers may still be stopped: run cosmig cutover again',
    'a rollback was interrupted, and writers may still be stopped: run cosmig rollback again',
  ],
  ['the last cutover was interrupted', 'the last rollback was interrupted'],
  ['the cutover did not finish in time', 'the rollback did not finish in time'],
  ['give --source-ru or COSMIG_TARGET_KEY', 'give --target-ru or COSMIG_SOURCE_KEY'],
  ['the sources of "source" in shop/target', 'the targets of "source" in shop/target'],
  ['resources and retargeting', 'resources and retargeting'],
])('swapped sides: %s -> %s', (text, swapped) => {
  expect(swapWords(text)).toBe(swapped);
});

test('swapped sides: a result -> its members and texts are swapped, and names stay', () => {
  const result = {
    ru: { source: 1, target: 2 },
    sourceKey: ['source'],
    id: 'target',
    next: 'stop writers of the source',
    list: [{ target: 'source' }],
  };
  expect(swapValues(result)).toEqual({
    ru: { target: 1, source: 2 },
    targetKey: ['source'],
    id: 'target',
    next: 'stop writers of the target',
    list: [{ source: 'target' }],
  });
});
