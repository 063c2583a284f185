/** What is advised about collisions, and where it leads when it is followed. */
import { describe, expect, test } from 'vitest';
import { parseDerivation } from '../../../src/keys/strategies/parse.ts';
import { finerKeyHint } from '../../../src/preflight/finer-key.ts';

const TENANT = { derive: [], partitionKey: ['/tenantId'] };
const FINER = 'choose a finer key, for instance with the old one in front: ';
const REMOVE = 'remove --partition-key (partitionKey in a config file)';

describe('finerKeyHint', () => {
  test.each([
    ['a property', TENANT, ['/site'], `add --derive '/pk={site}-{tenantId}', and ${REMOVE}`],
    [
      'a name that is not plain',
      TENANT,
      ['/pk', '/"a b"'],
      `add --derive '/newPk={pk}-{/"a b"}-{tenantId}', and ${REMOVE}`,
    ],
    [
      'a derived key',
      { derive: ['/k={at|month}'], partitionKey: ['/k'] },
      ['/site'],
      "--derive '/k={site}-{at|month}' in place of --derive '/k={at|month}'",
    ],
    [
      'a derived property that is not the key',
      { derive: ['/pk={at|month}'], partitionKey: ['/tenantId'] },
      ['/site'],
      "add --derive '/newPk={site}-{tenantId}', and give --partition-key /newPk in place of the present one",
    ],
  ])('%s -> the old key in front', (_name, key, sourcePaths, advice) => {
    expect(finerKeyHint(key, sourcePaths)).toBe(`${FINER}${advice}`);
    const [, text = ''] = /--derive '([^']+)'/.exec(advice) ?? [];
    expect(() => parseDerivation(text)).not.toThrow();
  });

  test('followed without removing --partition-key -> says that, and what was derived does not grow', () => {
    const [, text = ''] = /--derive '([^']+)'/.exec(finerKeyHint(TENANT, ['/site'])) ?? [];
    const next = { derive: [text], partitionKey: ['/tenantId'] };
    expect(finerKeyHint(next, ['/site'])).toBe(
      `choose a finer key: /pk has the old one in it, but it is not the key; ${REMOVE}, or give --partition-key /pk in its place`,
    );
  });

  test.each([['/pk={site}-{tenantId}'], ['/pk={tenantId}-{/site}']])(
    'the key has the old one in it already: %s -> another separator, or one property more',
    (derivation) => {
      const hint = finerKeyHint({ derive: [derivation], partitionKey: ['/pk'] }, ['/site']);
      expect(hint).toMatch(/^choose a finer key: \/pk has the old one in it already, so put another/);
      expect(hint).not.toContain('{');
    },
  );
});
