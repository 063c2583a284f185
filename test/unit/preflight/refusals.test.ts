import { expect, test } from 'vitest';
import type { ContainerFacts } from '../../../src/cosmos/container/inspect.ts';
import { refuseSame } from '../../../src/preflight/refusals.ts';
import { UsageError } from '../../../src/lib/errors.ts';
import { KEY, load, WHOLE } from '../spec/loading.ts';
import { containerFacts } from '../../helpers/migration/container-facts.ts';

const { spec } = load({ flags: WHOLE, env: { COSMIG_SOURCE_KEY: KEY } });
const account = (id: string | null): ContainerFacts['account'] => ({ id, multiWrite: null });

test.each<[string, Partial<ContainerFacts>, boolean]>([
  ['the same container', {}, true],
  ['an account that may not be read', { account: account(null) }, true],
  ['another account', { account: account('other') }, false],
  ['another container', { rid: 'other' }, false],
  ['made again, or in another account', { etag: 'other' }, false],
  ['a name is not what counts', { name: { database: 'x', container: 'y' } }, true],
])('refuse the same container: %s -> refused: %s', (_name, more, isSame) => {
  const refuse = (): void =>
    refuseSame(containerFacts({ account: account('acme') }), containerFacts(more), spec);
  let refused: unknown;
  try {
    refuse();
  } catch (error) {
    refused = error;
  }
  expect(refused instanceof UsageError).toBe(isSame);
});
