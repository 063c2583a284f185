import { expect, test } from 'vitest';
import { DARK, LIGHT, type Theme } from '../../../../src/report/svg/theme.ts';
import { TILE_STRENGTH } from '../../../../src/report/svg/tiles.ts';

/** The contrast of two colours by the rules of WCAG 2. */
function contrast(one: string, other: string): number {
  const [light, dark] = [luminance(one), luminance(other)].toSorted((a, b) => b - a) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

test('contrast: black on white is 21, equal colours have 1', () => {
  expect(contrast('#000000', '#ffffff')).toBeCloseTo(21);
  expect(contrast('#777777', '#777777')).toBe(1);
});

test.each([
  ['light', LIGHT],
  ['dark', DARK],
  ['printed', { ...LIGHT, paper: '#ffffff' }],
] satisfies ReadonlyArray<readonly [string, Theme]>)(
  '%s: every colour of text has a contrast of 4.5 at least',
  (_name, theme) => {
    const { ink, muted, alarm, caution, good, tones, paper, card } = theme;
    const low = [ink, muted, alarm, caution, good, ...tones].flatMap((colour) =>
      // The mark of a candidate is written in the colour of a card on its own colour.
      [paper, card]
        .filter((ground) => contrast(colour, ground) < 4.5)
        .map((ground) => `${colour} on ${ground}`),
    );
    expect(low).toEqual([]);
  },
);

/** A colour over another one, at this strength. */
function over(colour: string, ground: string, strength: number): string {
  const parts = [1, 3, 5].map((at) => {
    const [above, below] = [colour, ground].map((one) => Number.parseInt(one.slice(at, at + 2), 16));
    return Math.round((above ?? 0) * strength + (below ?? 0) * (1 - strength));
  });
  return `#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
}

test('text on the strongest tile has a contrast of 4.5 at least', () => {
  const low = [LIGHT, DARK].flatMap(({ ink, track, tones }) =>
    // The tones of a copy, a tail and the target.
    [1, 2, 3]
      .map((tone) => over(tones[tone] ?? '', track, TILE_STRENGTH))
      .filter((ground) => contrast(ink, ground) < 4.5),
  );
  expect(low).toEqual([]);
});

test('no two candidates have the same colour', () => {
  for (const { tones } of [LIGHT, DARK]) expect(new Set(tones).size).toBe(tones.length);
});
