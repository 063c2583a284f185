import { expect, test, vi } from 'vitest';
import { systemClock } from '../../../../src/lib/clock.ts';
import { nextStep } from '../../../../src/report/status/next-step.ts';
import * as reading from '../../../../src/report/status/read-status.ts';

vi.mock(import('../../../../src/report/status/read-status.ts'), { spy: true });

test('next step: the status cannot be read, for whatever reason -> no advice, and no failure', async () => {
  const read = vi.mocked(reading.readStatus).mockImplementation(() => {
    throw new TypeError('a bug');
  });
  const context = { env: { COSMIG_LEDGER: 'ledger.db' }, clock: systemClock, options: {} };
  expect(await nextStep(context)).toEqual({});
  expect(read).toHaveBeenCalledOnce();
});
