/** Measures one comparison of two containers of the null service. */
import { statSync } from 'node:fs';
import { connect } from '../src/cosmos/account/client.ts';
import { ContainerRequests } from '../src/cosmos/transport/container-requests.ts';
import { readContainer } from '../src/cosmos/container/inspect.ts';
import { readRanges } from '../src/cosmos/feed/ranges.ts';
import { Patience } from '../src/cosmos/load/retry.ts';
import { systemClock } from '../src/lib/clock.ts';
import { systemRandom } from '../src/lib/random.ts';
import { Ledger } from '../src/state/ledger.ts';
import { verify } from '../src/verify/verify.ts';
import { withLedger, type ClientParts, type Places } from './client-parts.ts';
import type { Took } from './copy-client.ts';

const never = new AbortController().signal;

/** Creates a ledger like that of a mover which has replicated everything. */
async function makeLedger({ spec, connections }: ClientParts): Promise<void> {
  using account = await connect(connections.source, { signal: never });
  const patience = new Patience({ clock: systemClock, random: systemRandom });
  const read = async (container: string): Promise<string> => {
    const found = await readContainer(account, { database: 'bench', container }, { signal: never, patience });
    if (found === undefined) throw new Error(`there is no ${container}`);
    return found.rid;
  };
  const containers = {
    sourceRid: await read(spec.source.container),
    targetRid: await read(spec.target.container),
    sourceTtl: -1,
  };
  const requests = new ContainerRequests(account, { database: 'bench', container: spec.source.container });
  const ranges = await readRanges(requests, { signal: never });
  using ledger = Ledger.open({
    path: spec.ledger,
    spec,
    nowMs: systemClock.now(),
    create: 'if-missing',
    containers,
  });
  ledger.migration.pinContainers(containers);
  ledger.migration.decideDeleteMode('reconcile');
  const begun = ledger.leases.begin(
    ranges.map(({ id, min, max }) => ({
      rangeId: id,
      parents: [],
      min,
      max,
      phase: 'copy',
      lvPosition: '"1000000000"',
      avadPosition: null,
      restartPosition: null,
      anchor: { etag: '"0"', lsn: 0, session: '' },
      copiedLsn: null,
      sweepPending: false,
    })),
  );
  for (const { number } of begun) ledger.leases.change(number, { phase: 'tail' });
}

export async function measure(
  { endpoint, key, ttl }: Pick<Places, 'endpoint' | 'key' | 'ttl'>,
  documents: number,
): Promise<Took> {
  const places = { endpoint, key, ttl, source: `source-${documents}`, target: `moved-${documents}` };
  return withLedger(places, async (parts) => {
    await makeLedger(parts);
    let ledgerBytes = 0;
    const before = process.cpuUsage();
    const start = performance.now();
    const verdict = await verify({
      ...parts,
      level: 'digest',
      fresh: true,
      deadlineMs: 1000,
      signal: never,
      // Read during the comparison, since the files of runs are deleted at its end.
      onProgress: () =>
        (ledgerBytes = Math.max(
          ledgerBytes,
          statSync(`${parts.spec.ledger}-verify-runs`, { throwIfNoEntry: false })?.size ?? 0,
        )),
    });
    const wallMs = performance.now() - start;
    const { user, system } = process.cpuUsage(before);
    if (verdict.equal !== true || verdict.target.count !== documents)
      throw new Error(`not everything was compared: ${JSON.stringify(verdict)}`);
    const rssPeakBytes = process.resourceUsage().maxRSS * 1024;
    return { documents, wallMs, cpuMs: (user + system) / 1000, rssPeakBytes, ledgerBytes };
  });
}
