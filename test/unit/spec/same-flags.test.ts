import { describe, expect, test } from 'vitest';
import { withSameFlags } from '../../../src/spec/same-flags.ts';

const PLACE = { source: ['shop/orders'], target: ['shop/by tenant'] };

describe('advice on a command line with flags', () => {
  test.each<[advice: string, options: Readonly<Record<string, unknown>>, expected: string]>([
    ['see cosmig dead-letters list --all', {}, 'see cosmig dead-letters list --all'],
    [
      'see cosmig dead-letters list --all',
      PLACE,
      "see cosmig dead-letters list --source shop/orders --target 'shop/by tenant' --all",
    ],
    [
      'see cosmig status; see cosmig dead-letters show 12',
      { ...PLACE, ledger: ['a.db'], config: ['c.yaml'] },
      'see cosmig status --ledger a.db; see cosmig dead-letters show --ledger a.db 12',
    ],
    ['see cosmig status', { config: ['c.yaml'], source: [] }, 'see cosmig status --config c.yaml'],
    [
      'run cosmig tail, then cosmig verify',
      PLACE,
      'run cosmig tail, then cosmig verify (with the same flags)',
    ],
    ['see cosmig --help', PLACE, 'see cosmig --help'],
    ['see cosmig copy --help', { ledger: ['a.db'] }, 'see cosmig copy --help'],
    ['see cosmig status', { source: undefined, config: 'settings.json' }, 'see cosmig status'],
  ])('%s with %o -> the same flags', (advice, options, expected) => {
    expect(withSameFlags(advice, options)).toBe(expected);
  });
});
