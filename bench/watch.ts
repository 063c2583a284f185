/**
 * What the live page costs the process that serves it: the CPU time of a second with no viewer, with one and with fifty,
 * on a ledger with a full history that changes every second, as during a run. The viewers are another process.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { systemClock } from '../src/lib/clock.ts';
import { LivePage } from '../src/report/watch/live.ts';
import type { SideReport } from '../src/state/runs.ts';
import { Ledger } from '../src/state/ledger.ts';
import { startWatch } from '../src/watch/server.ts';
import { Build } from './build.ts';
import { SPEC } from './ledger.ts';
import type { Result } from './report.ts';
import type { BenchOptions } from './run.ts';

const VIEWERS = 50;
/** How long each case is measured. */
const SECONDS = 20;
const RANGES = 30;
const MOMENTS = 700;

export async function benchWatch({ say }: BenchOptions): Promise<Result[]> {
  using build = Build.make();
  const folder = mkdtempSync(join(tmpdir(), 'cosmig-bench-'));
  const stopping = new AbortController();
  const path = join(folder, 'ledger.db');
  const ledger = Ledger.open({ path, spec: SPEC, nowMs: Date.now(), create: 'if-missing' });
  try {
    fill(ledger);
    const page = new LivePage(path, { clock: systemClock, version: '0' });
    const server = await startWatch({
      port: 0,
      token: 'bench',
      shown: page,
      clock: systemClock,
      signal: stopping.signal,
    });
    const measure = async (viewers: number): Promise<number> => {
      say(`a page with ${viewers} viewers`);
      const child =
        viewers === 0
          ? undefined
          : spawn(process.execPath, [build.path('bench/watch-viewers.js'), server.url, String(viewers)], {
              stdio: ['ignore', 'pipe', 'inherit'],
            });
      if (child !== undefined) await once(child.stdout, 'data');
      const before = process.cpuUsage();
      for (let second = 0; second < SECONDS; second += 1) {
        await wait(1000);
        move(ledger);
      }
      const { user, system } = process.cpuUsage(before);
      child?.kill();
      return (user + system) / 1000 / SECONDS;
    };
    await measure(VIEWERS);
    const [none, one, fifty] = [await measure(0), await measure(1), await measure(VIEWERS)];
    await server.close();
    const cost = (name: string, ms: number): Result => ({
      name,
      value: ms - none,
      unit: 'ms/s',
      ratio: { value: (ms - none) / 1000, to: 'of a core' },
      target: 'below 0.01 of a core',
    });
    return [cost('live page, 1 viewer', one), cost(`live page, ${VIEWERS} viewers`, fifty)];
  } finally {
    stopping.abort(new Error('the benchmark has ended'));
    ledger.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function fill(ledger: Ledger): void {
  ledger.runs.begin({ command: 'copy', pid: process.pid, nowMs: Date.now() });
  const beganMs = Date.now() - MOMENTS * 1000;
  for (let moment = 0; moment < MOMENTS; moment += 1) remember(ledger, beganMs + moment * 1000, moment);
}

/** A second of a run. */
function move(ledger: Ledger): void {
  const atMs = Date.now();
  remember(ledger, atMs, Math.floor(atMs / 1000) % 100_000);
  const side: SideReport = {
    ru: atMs % 1_000_000,
    throttled: 0,
    allowedRu: 10_000,
    containerRu: 20_000,
    ranges: Array.from({ length: RANGES }, (_none, at) => ({
      id: String(at),
      min: at === 0 ? '' : (at * 2).toString(16).padStart(2, '0').padEnd(32, '0').toUpperCase(),
      max:
        at === RANGES - 1 ? 'FF' : (at * 2 + 2).toString(16).padStart(2, '0').padEnd(32, '0').toUpperCase(),
      ru: (atMs * (at + 1)) % 100_000,
      throttled: 0,
      isResting: false,
    })),
  };
  ledger.runs.report({
    atMs,
    lagSeconds: null,
    waitsFor: null,
    expected: 1_000_000,
    inFlight: 500,
    source: side,
    target: side,
    steps: [],
  });
}

function remember(ledger: Ledger, atMs: number, done: number): void {
  ledger.history.add({
    atMs,
    command: 'copy',
    read: done * 100,
    written: done * 100,
    deleted: 0,
    moved: 0,
    sourceRu: done * 100,
    targetRu: done * 600,
    throttled: 0,
    openLetters: 0,
    lagSeconds: null,
  });
}
