import { expect, test } from 'vitest';
import { Steps, type StepsParts } from '../../../src/demo/steps.ts';

test('demo: a step begins -> the live line of the step before is removed first', async () => {
  const shown: string[] = [];
  const out = {
    note: (text: string) => void shown.push(text),
    hideLive: () => void shown.push('(the live line is removed)'),
  };
  // What a step gets is enough to begin it; it then fails without a config file.
  const context = { out } as unknown as StepsParts['context'];
  const local = { config: '/nowhere/cosmig.config.yaml', env: {} } as StepsParts['local'];
  const steps = new Steps({ context, local, signal: new AbortController().signal });
  await expect(steps.verify()).rejects.toThrow();
  expect(shown).toEqual(['(the live line is removed)', '$ cosmig verify']);
});
