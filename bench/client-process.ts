/** Runs a client in a process of its own, on the core of the benchmark, and reports the time and memory it used. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Build } from './build.ts';
import type { Took } from './copy-client.ts';
import type { ServerProcess } from './server-process.ts';

export interface Setting {
  readonly build: Build;
  readonly service: ServerProcess;
  readonly profileDir: string | undefined;
}

/** Runs the client in one process with all counts. Yields the measurement for each count as soon as that part ends. */
export async function* runClient(
  { build, service, profileDir }: Setting,
  [script, ...words]: readonly [script: string, ...words: readonly string[]],
  counts: readonly number[],
): AsyncGenerator<Took> {
  const profile = profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`];
  const client = [build.path(`bench/${script}`), ...words, service.endpoint, service.key];
  const child = spawn(process.execPath, [...profile, ...client, ...counts.map(String)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...trusting(service) },
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  for await (const line of createInterface({ input: child.stdout })) yield JSON.parse(line) as Took;
  const code = await ended;
  if (code !== 0) throw new Error(`${[script, ...words].join(' ')} ended with exit code ${code}`);
}

/** Returns the environment in which Node trusts the certificate of the service. */
function trusting({ certificateFile }: ServerProcess): Record<string, string> {
  return certificateFile === undefined ? {} : { NODE_EXTRA_CA_CERTS: certificateFile };
}
