/**
 * The colours of pages, as CSS variables for light and dark, and the style of pictures. A test computes the contrast of
 * each colour that text has with each background it stands on. Printing is always light.
 */

/** The colours of candidates; the first is that of the present key. A class `k1` sets the colour of what is in it. */
export const TONES = 9;

export interface Theme {
  readonly paper: string;
  readonly card: string;
  readonly ink: string;
  readonly muted: string;
  readonly hairline: string;
  readonly track: string;
  readonly alarm: string;
  readonly caution: string;
  readonly good: string;
  readonly tones: readonly string[];
}

export const LIGHT: Theme = {
  paper: '#faf9f6',
  card: '#ffffff',
  ink: '#1c2026',
  muted: '#59616b',
  hairline: '#e3e0d9',
  track: '#efede8',
  alarm: '#b3261e',
  caution: '#8a5a00',
  good: '#1b6e3c',
  tones: ['#5f6670', '#0b5cad', '#0f7264', '#a24a06', '#7b43b0', '#a82d6c', '#5f6b08', '#0b6c86', '#8a4b32'],
};

export const DARK: Theme = {
  paper: '#14161a',
  card: '#1b1e23',
  ink: '#e9e7e2',
  muted: '#a3abb5',
  hairline: '#31353c',
  track: '#282c32',
  alarm: '#ff9288',
  caution: '#f0bf62',
  good: '#74d298',
  tones: ['#a3abb6', '#6fb4f7', '#4fc9b4', '#f0a560', '#c49df3', '#f18dc1', '#bfcb58', '#61c7e4', '#d9a68c'],
};

function variables({ tones, ...colours }: Theme): string {
  const named = Object.entries(colours).map(([name, colour]) => `--${name}:${colour}`);
  return [...named, ...tones.map((colour, index) => `--tone${index}:${colour}`)].join(';');
}

export const THEME_STYLE = `
:root{color-scheme:light dark;${variables(LIGHT)}}
@media (prefers-color-scheme:dark){:root{${variables(DARK)}}}
@media print{:root{color-scheme:light;${variables(LIGHT)};--paper:#ffffff}}
${LIGHT.tones.map((_colour, index) => `.k${index}{--tone:var(--tone${index})}`).join('')}
`;

export const PICTURE_STYLE = `
.picture{display:block;width:100%;height:auto;overflow:visible}
.picture text{font-size:12px;fill:var(--ink);font-variant-numeric:tabular-nums}
.picture .value{font-family:var(--mono);unicode-bidi:isolate}
.picture .figure{fill:var(--ink)}
.picture .axis{font-size:11px;fill:var(--muted)}
.picture .alarm{fill:var(--alarm)}
.picture .strong{font-weight:600}
.picture .tinted{fill:var(--tone)}
.track{fill:var(--track)}
.full{fill:var(--tone)}
.half{fill:var(--tone);fill-opacity:.55}
.pale{fill:var(--tone);fill-opacity:.28}
.whisker{stroke:var(--tone);stroke-width:1.2}
.limit{stroke:var(--alarm);stroke-width:1.2;stroke-dasharray:3 3}
.even{stroke:var(--ink);stroke-width:.8;stroke-dasharray:1 3}
.base{stroke:var(--muted);stroke-width:.8}
.gridline{stroke:var(--hairline);stroke-width:1}
.curve{fill:none;stroke:var(--tone);stroke-width:2.2;stroke-linejoin:round;stroke-linecap:round}
${[0.2, 0.31, 0.43, 0.54, 0.66, 0.77, 0.89, 1].map((opacity, level) => `.heat${level + 1}{fill:var(--tone);fill-opacity:${opacity}}`).join('')}
[class^=heat]{shape-rendering:crispEdges}
.meter{display:block;width:100%;max-width:7rem;height:.5rem;margin-top:4px}
.scale{width:112px;height:10px;vertical-align:middle}
`;
