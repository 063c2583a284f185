/**
 * Measures passes of `cosmig plan` in a process that does nothing else. `node plan-client.js HOW CANDIDATES ENDPOINT
 * KEY N...` reads a container of N documents for each N, for the candidates in the text, separated by `;`. HOW is
 * `sketches`, or `exact` for `--exact`.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { keepYoungGenerationSmall } from '../src/lib/heap.ts';

// Called before the large modules are loaded, as in bin/cosmig.js.
keepYoungGenerationSmall();
const { connect } = await import('../src/cosmos/account/client.ts');
const { readContainer } = await import('../src/cosmos/container/inspect.ts');
const { Patience } = await import('../src/cosmos/load/retry.ts');
const { openSide } = await import('../src/cosmos/side.ts');
const { parseCandidate } = await import('../src/plan/candidates/candidate.ts');
const { readForPlan } = await import('../src/plan/reading/plan-pass.ts');
const { withLedger } = await import('./client-parts.ts');

const signal = new AbortController().signal;
const [how = '', keys = '', endpoint = '', key = '', ...counts] = process.argv.slice(2);
const candidates = keys.split(';').map((text) => parseCandidate(text));
for (const count of counts) {
  const source = `source-${count}`;
  const took = await withLedger({ endpoint, key, source, target: `moved-${count}` }, async (parts) => {
    const { clock, random, connections, spec } = parts;
    const waiting = { clock, random, onWait: () => undefined };
    using account = await connect(connections.source, { signal });
    const facts = await readContainer(
      account,
      { database: 'bench', container: source },
      { signal, patience: new Patience(waiting) },
    );
    if (facts === undefined) throw new Error(`there is no ${source}`);
    const before = process.cpuUsage();
    const start = performance.now();
    const side = await openSide('source', { account, facts, budget: spec.sourceBudget, ...waiting }, signal);
    const path = join(spec.ledger, '..', 'bench-plan');
    let diskBytes = 0;
    const { measure } = await readForPlan({
      side,
      path,
      candidates,
      show: { name: 'plain', text: (values) => JSON.stringify(values) },
      share: 1,
      readRu: 1,
      created: null,
      uniqueKeys: [],
      exact: how === 'exact',
      fresh: true,
      ruMax: null,
      isAccepted: true,
      clock,
      random,
      signal,
      // It is said when everything was read, and before the entries are counted and deleted.
      say: () => {
        diskBytes = statSync(`${path}-exact`, { throwIfNoEntry: false })?.size ?? 0;
      },
    });
    const wallMs = performance.now() - start;
    const { user, system } = process.cpuUsage(before);
    if (measure.totals.documents !== Number(count))
      throw new Error(`not everything was read: ${measure.totals.documents}`);
    return {
      documents: Number(count),
      wallMs,
      cpuMs: (user + system) / 1000,
      rssPeakBytes: process.resourceUsage().maxRSS * 1024,
      diskBytes,
    };
  });
  process.stdout.write(`${JSON.stringify(took)}\n`);
}
