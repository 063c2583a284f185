import { describe, expect, test } from 'vitest';
import { TroubleError } from '../../../../src/cosmos/transport/trouble.ts';
import { isPart, remap, tile, wholeOf, type PhysicalRange } from '../../../../src/cosmos/feed/ranges.ts';

/** `id parents min-max`, the parents joined by +. */
function ranges(...texts: readonly string[]): PhysicalRange[] {
  return texts.map((text) => {
    const [id = '', parents = '', interval = ''] = text.split(' ');
    const [min = '', max = ''] = interval.split('-');
    return { id, parents: parents === '.' ? [] : parents.split('+'), min, max };
  });
}

const idsOf = (all: readonly PhysicalRange[]): string => all.map(({ id }) => id).join(' ');

describe('a list of ranges', () => {
  test.each([
    ['one', ['0 . -FF'], '0'],
    ['in any order', ['2 0 80-FF', '1 0 -80'], '1 2'],
    ['both generations', ['0 . -FF', '1 0 -80', '2 0 80-FF'], '1 2'],
    ['twice the same, from two pages', ['1 0 -80', '2 0 80-FF', '1 0 -80'], '1 2'],
  ])('tiles -> used: %s', (_name, texts, expected) => {
    expect(idsOf(tile(ranges(...texts)))).toBe(expected);
  });

  test.each([
    ['nothing', []],
    ['a gap at the start', ['0 . 10-FF']],
    ['a gap in the middle', ['1 0 -40', '2 0 80-FF']],
    ['a gap at the end', ['1 0 -80']],
    ['an overlap', ['1 0 -80', '2 0 70-FF']],
    ['an empty range', ['1 0 -80', '3 0 80-80', '2 0 80-FF']],
    ['one child, while the parent is gone', ['0 . -FF', '1 0 -80']],
  ])('does not tile -> transient trouble: %s', (_name, texts) => {
    expect(() => tile(ranges(...texts))).toThrow(TroubleError);
  });
});

describe('a reader whose range answered 410', () => {
  const [parent] = ranges('0 . -FF');
  const reader = wholeOf(parent as PhysicalRange);
  const places = (all: readonly string[], of = reader): unknown => {
    const { changed, readers } = remap(ranges(...all), of);
    return { changed, readers: readers.map((one) => `${one.range.id} ${one.min}-${one.max} ${isPart(one)}`) };
  };

  test('the split is not finished -> the reader is unchanged', () => {
    expect(places(['0 . -FF'])).toEqual({ changed: false, readers: ['0 -FF false'] });
  });

  test('a split -> two children', () => {
    expect(places(['1 0 -80', '2 0 80-FF'])).toEqual({
      changed: true,
      readers: ['1 -80 false', '2 80-FF false'],
    });
  });

  test('two splits -> grandchildren', () => {
    expect(places(['2 0 80-FF', '3 0+1 -40', '4 0+1 40-80'])).toEqual({
      changed: true,
      readers: ['3 -40 false', '4 40-80 false', '2 80-FF false'],
    });
  });

  test('a merge -> the reader keeps its part of the merged range', () => {
    const [one] = ranges('1 0 -80');
    expect(places(['3 1+2 -FF'], wholeOf(one as PhysicalRange))).toEqual({
      changed: true,
      readers: ['3 -80 true'],
    });
  });

  test('a merged range splits elsewhere -> the reader keeps its part', () => {
    const [merged] = ranges('3 1+2 -FF');
    const part = { range: merged as PhysicalRange, min: '', max: '80' };
    expect(places(['4 3 -40', '5 3 40-FF'], part)).toEqual({
      changed: true,
      readers: ['4 -40 false', '5 40-80 true'],
    });
  });
});
