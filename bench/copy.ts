/**
 * What a copied document costs its client, against a service that does nothing: the SDK's feed iterator with upserts one
 * by one, the same with bulk calls of 100, and no client at all, all in one run. CPU time per document holds still when
 * the machine has other work; documents a second do not.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { Build } from './build.ts';
import type { Took, Way } from './copy-client.ts';
import type { Result } from './report.ts';
import type { BenchOptions } from './run.ts';
import { startNullService, type ServerProcess } from './server-process.ts';

/** For each way: documents to warm up with, then those that are measured. */
const DOCUMENTS: Readonly<Record<Way, readonly number[]>> = {
  bare: [50_000, 400_000],
  upsert: [5000, 30_000],
  bulk: [50_000, 200_000],
};

interface Measured extends Took {
  /** What the service needed meanwhile. */
  readonly serverMs: number;
}

export async function benchCopy({ profileDir, say }: BenchOptions): Promise<Result[]> {
  using build = Build.make();
  await using service = await startNullService(build, profileDir);
  const measured = async (way: Way): Promise<Measured> => {
    say(`copying: ${way}`);
    const list = await copyIn(build, service, way);
    const last = list.at(-1);
    if (last === undefined) throw new Error(`${way} has not copied anything`);
    return last;
  };
  const bare = await measured('bare');
  const upsert = await measured('upsert');
  const bulk = await measured('bulk');
  return [
    costOf('the null service, no client', bare),
    costOf('SDK feed, upsert one by one', upsert),
    costOf('SDK feed, bulk in calls of 100', bulk),
  ];
}

/** Runs one way in a process of its own, on our core. */
async function copyIn(build: Build, service: ServerProcess, way: Way): Promise<Measured[]> {
  const args = [
    build.path('bench/copy-client.js'),
    way,
    service.endpoint,
    service.key,
    ...DOCUMENTS[way].map(String),
  ];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const list: Measured[] = [];
  let serverBefore = service.cpuMs();
  for await (const line of createInterface({ input: child.stdout })) {
    const serverMs = service.cpuMs();
    list.push({ ...(JSON.parse(line) as Took), serverMs: serverMs - serverBefore });
    serverBefore = serverMs;
  }
  const code = await ended;
  if (code !== 0) throw new Error(`the client that copies with ${way} ended with exit code ${code}`);
  return list;
}

function costOf(name: string, { documents, wallMs, cpuMs, serverMs }: Measured): Result {
  return {
    name,
    value: perDocument(cpuMs, documents),
    unit: 'us/doc',
    note: `${Math.round((documents * 1000) / wallMs).toLocaleString('en-US')} docs/s; service busy ${Math.round((100 * serverMs) / wallMs)} %`,
  };
}

function perDocument(ms: number, documents: number): number {
  return (ms * 1000) / documents;
}
