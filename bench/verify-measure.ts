/** One comparison of two containers of the null service, and what it took. */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '../src/cosmos/client.ts';
import { ContainerLane } from '../src/cosmos/container-lane.ts';
import { readContainer } from '../src/cosmos/containers.ts';
import { readRanges } from '../src/cosmos/ranges.ts';
import { Patience } from '../src/cosmos/retry.ts';
import { systemClock } from '../src/lib/clock.ts';
import { createLog } from '../src/lib/log.ts';
import { systemRandom } from '../src/lib/random.ts';
import { loadSpec } from '../src/spec/load.ts';
import { Ledger } from '../src/state/ledger.ts';
import { verify } from '../src/verify/verify.ts';
import type { Took } from './copy-client.ts';

type Checked = ReturnType<typeof loadSpec>;
const never = new AbortController().signal;

/** As a mover leaves it behind that has brought over everything. */
async function makeLedger({ spec, connections }: Checked): Promise<void> {
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
    sourceTtl: null,
  };
  const lane = new ContainerLane(account, { database: 'bench', container: spec.source.container });
  const ranges = await readRanges(lane, { signal: never });
  using ledger = Ledger.open({
    path: spec.ledger,
    spec,
    nowMs: systemClock.now(),
    create: 'if-missing',
    containers,
  });
  ledger.facts.holdContainers(containers);
  ledger.facts.decideDeletes('reconcile');
  const begun = ledger.leases.begin(
    ranges.map(({ id, min, max }) => ({
      rangeId: id,
      parents: [],
      min,
      max,
      phase: 'copy',
      lvPosition: '"1000000000"',
      avadPosition: null,
      backPosition: null,
      anchor: { etag: '"0"', lsn: 0, session: '' },
      sweepPending: false,
    })),
  );
  for (const { number } of begun) ledger.leases.change(number, { phase: 'tail' });
}

export async function measure(endpoint: string, key: string, documents: number): Promise<Took> {
  const folder = mkdtempSync(join(tmpdir(), 'cosmig-bench-verify-'));
  try {
    const ledger = join(folder, 'ledger.db');
    const checked = loadSpec({
      options: {
        source: [`bench/source-${documents}`],
        target: [`bench/moved-${documents}`],
        sourceEndpoint: [endpoint],
        partitionKey: ['/tenantId'],
        ledger: [ledger],
      },
      env: { COSMIG_SOURCE_KEY: key },
      clock: systemClock,
      folder,
    });
    await makeLedger(checked);
    let ledgerBytes = 0;
    const before = process.cpuUsage();
    const start = performance.now();
    const verdict = await verify({
      ...checked,
      level: 'digest',
      fresh: true,
      deadlineMs: 1000,
      clock: systemClock,
      random: systemRandom,
      log: createLog({
        level: 'error',
        format: 'text',
        clock: systemClock,
        write: (line) => process.stderr.write(line),
      }),
      signal: never,
      // While the runs are there.
      onProgress: () =>
        (ledgerBytes = Math.max(
          ledgerBytes,
          statSync(`${ledger}-verify-runs`, { throwIfNoEntry: false })?.size ?? 0,
        )),
    });
    const wallMs = performance.now() - start;
    const { user, system } = process.cpuUsage(before);
    if (verdict.equal !== true || verdict.target.count !== documents)
      throw new Error(`not everything was compared: ${JSON.stringify(verdict)}`);
    const rssPeakBytes = process.resourceUsage().maxRSS * 1024;
    return { documents, wallMs, cpuMs: (user + system) / 1000, rssPeakBytes, ledgerBytes };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
