import { describe, expect, test } from 'vitest';
import { changeSettings, DEFAULT_SETTINGS } from '../../../../src/emulator/account/settings.ts';
import { refusalOf } from '../../../helpers/emulator/memory-account.ts';

describe('the settings of an account', () => {
  test.each<[object]>([
    [{}],
    [{ avad: true }],
    [{ aad: true, ru: 'off', numbers: 'service' }],
    [{ replicaLagMs: 0 }],
    [{ replicaLagMs: 0.5, pageBytes: 1, rangeLimitBytes: 1e308 }],
  ])('%j -> changed, the rest is kept', (changes) => {
    expect(changeSettings(DEFAULT_SETTINGS, changes)).toEqual({ ...DEFAULT_SETTINGS, ...changes });
  });

  test.each([
    undefined, null, 1, 'x', true, [], [{ avad: true }],
    { unknown: 1 }, JSON.parse('{"__proto__":1}'), { constructor: 1 }, { toString: 1 },
    { avad: 1 }, { avad: 'true' }, { avad: null }, { aad: undefined },
    { ru: 'on' }, { ru: true }, { ru: ['off'] }, { numbers: 'constructor' }, { numbers: null },
    { replicaLagMs: -1 }, { replicaLagMs: '1' }, { replicaLagMs: null }, { replicaLagMs: NaN }, { replicaLagMs: Infinity }, { pageBytes: {} },
    { avad: true, nonsense: 1 },
  ])('%j -> refused', (changes: unknown) => {
    expect(refusalOf(() => changeSettings(DEFAULT_SETTINGS, changes))?.status).toBe(400);
  }); // prettier-ignore

  test('a change -> a new object, the old one is unchanged', () => {
    const before = structuredClone(DEFAULT_SETTINGS);
    changeSettings(DEFAULT_SETTINGS, { avad: true, pageBytes: 5 });
    expect(DEFAULT_SETTINGS).toEqual(before);
  });
});
