import { expect, test } from 'vitest';
import type { RenderLine } from '../../../../src/cli/command.ts';
import { swappingReporter } from '../../../../src/report/turns/swapping-reporter.ts';
import { verifyLine } from '../../../../src/report/live-line.ts';
import { NOTHING } from '../../../helpers/run-load.ts';

test('live line on the way back: its words are longer than those of the way there -> fits, and is not cut', () => {
  let render: RenderLine = () => '';
  const turned = swappingReporter({
    note: () => {},
    progress: (_picture, shown) => void (render = shown),
    hideLive: () => {},
    announce: () => {},
    line: async () => Promise.resolve(true),
  });
  const progress = {
    stage: 'rechecking',
    source: 10_923,
    target: 11_389,
    open: 3960,
    oldestOpenMs: null,
    waitsFor: 'cosmig tail',
    expected: 12_000,
    ru: 1247,
    throttled: 369,
    budgetRu: 20_000,
    requests: NOTHING,
  };
  turned.progress({}, (columns) => verifyLine(progress, { documents: null, ru: 1247 }, columns));
  expect(render(77)).toBe('rechecking  3,960 docs left  1,247/20k RU/s  waits: cosmig reverse');
  expect(render(78)).toContain('x 429');
});
