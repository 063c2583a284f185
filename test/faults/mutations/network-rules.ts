/** The rules about requests, the local account's door and the terminal's, each with the test that must notice. */
import type { Rule } from '../mutations-patches.ts';

const REQUESTS = 'src/cosmos/transport/container-requests.ts';
const BATCHES = 'test/integration/cosmos/batch.test.ts';

export const NETWORK_RULES: readonly Rule[] = [
  {
    name: 'a-refused-signature-is-not-replaced',
    edits: [{ file: REQUESTS, find: 'if (isUsed && !exchange.ok', replace: 'if (!isUsed && !exchange.ok' }],
    test: BATCHES,
    by: '401 once',
  },
  {
    name: 'any-401-is-sent-again',
    edits: [{ file: REQUESTS, find: 'if (isUsed && !exchange.ok', replace: 'if (!exchange.ok' }],
    test: BATCHES,
    by: '401, however often',
  },
];
