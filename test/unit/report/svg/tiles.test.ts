import { expect, test } from 'vitest';
import { tiles } from '../../../../src/report/svg/tiles.ts';

const TILE = { heat: 0, tone: 'k1', isMarked: false, isFresh: false, title: 'Range 1' };
const PACE = { whole: '', short: '' };

test.each([
  ['half of the space', 0.5, ['x="8" y="33%"']],
  ['a tenth', 0.1, ['from-laptop', 'from-laptop until-laptop']],
  ['an eighth', 0.125, ['from-laptop', 'from-laptop until-laptop', 'from-phone until-laptop']],
])('tiles: a tile of %s -> a count that fits is written on it, also on a phone', (_name, to, styles) => {
  const lines = [{ whole: '1,204 read', short: '1,204', tiny: '1.2k' }, PACE] as const;
  const caption = { id: 'i', title: 't', description: 'd' };
  const { text } = tiles(caption, [{ ...TILE, from: 0, to, lines }]);
  const first = text.split('y="68%"')[0] ?? '';
  for (const style of styles) expect(first).toContain(style);
});
