/**
 * Where the CPU time of a copied document goes, part by part: a copy with a CPU profile, in a process of its own. Each
 * sample of the profile counts for the innermost function on its stack that belongs to a part. Native code counts for the
 * JavaScript that called it. The event loop calls TLS itself when bytes arrive, so that is a part of its own.
 */
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Build } from './build.ts';
import { copyIn } from './copy.ts';
import type { Result } from './report.ts';
import type { BenchOptions } from './run.ts';
import { startNullService } from './server-process.ts';

const DOCUMENTS = 1_000_000;
/** Documents copied before the others, so that compiling counts for little. */
const WARM_UP = 200_000;

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string };
  readonly children?: readonly number[];
}

interface Profile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** The parts, and what belongs to them: the start of a file's path, or the name of a function in parentheses. */
const PARTS: ReadonlyArray<readonly [part: string, ...of: string[]]> = [
  ['garbage collection', '(garbage collector)'],
  ['event loop: sockets, TLS of what arrives', '(program)'],
  ['waiting', '(idle)'],
  [
    'sockets, TLS of what is sent',
    'node:net',
    'node:_tls',
    'node:internal/stream_base',
    'node:internal/streams',
    'node:stream',
    'node:events',
  ],
  ['HTTP client', 'node:_http', 'node:http', 'node:internal/http', 'node:internal/url'],
  ['SDK and signing', '@azure', '@typespec', 'node:internal/crypto', 'src/cosmos/account'],
  [
    'transport: requests and replies',
    'src/cosmos/transport',
    'src/cosmos/feed',
    'src/lib/abort',
    'src/lib/buffers',
  ],
  [
    'replies: outcomes of operations',
    'src/cosmos/bulk/batch-request',
    'src/cosmos/bulk/execute',
    'src/cosmos/bulk/refused',
  ],
  ['batches', 'src/cosmos/bulk', 'src/cosmos/load'],
  [
    'plain documents: keys, hashes, segments and operations',
    'src/documents/packing',
    'src/documents/kernel/pack-kernel',
    'src/engine/copy/plain-rows',
  ],
  ['scan', 'src/documents/page-scan', 'src/documents/kernel/scan-kernel', 'src/documents/scalar'],
  ['hashes of identity and slot', 'src/documents/identity', 'src/documents/hash'],
  ['keys and effective keys', 'src/keys', 'src/epk'],
  [
    'operations as bytes',
    'src/documents/page-pieces',
    'src/documents/splice',
    'src/documents/batch-body',
    'src/documents/byte-output',
    'src/engine/copy/flat-page',
  ],
  ['segments', 'src/state/segments'],
  ['index', 'src/state/index'],
  ['SQLite and the rest of the ledger', 'src/lib/sqlite', 'src/state', 'better-sqlite3'],
  ['locks', 'src/engine/unit/sequencer', 'src/engine/unit/lock-table'],
  ['engine', 'src/engine', 'src/lib'],
];
const REST = 'everything else';
/** A folder in memory. A profile counts the time in which a thread waits for the disk, and that is not CPU time. */
const MEMORY_FOLDER = '/dev/shm';

/** Returns the part that a frame belongs to; undefined if its caller decides. */
function partOf({ callFrame: { functionName, url } }: ProfileNode): string | undefined {
  return PARTS.find(([, ...of]) =>
    of.some((what) => (what.startsWith('(') ? functionName === what : url.includes(what))),
  )?.[0];
}

/** Returns the milliseconds of each part. */
function msByPart({ nodes, samples, timeDeltas }: Profile): Map<string, number> {
  const parents = new Map<number, ProfileNode>();
  const byId = new Map(nodes.map((node) => [node.id, node]));
  for (const node of nodes) for (const child of node.children ?? []) parents.set(child, node);
  const partOfNode = new Map<number, string>();
  for (const node of nodes) {
    let part: string | undefined;
    for (
      let at: ProfileNode | undefined = node;
      at !== undefined && part === undefined;
      at = parents.get(at.id)
    )
      part = partOf(at);
    partOfNode.set(node.id, part ?? REST);
  }
  const ms = new Map<string, number>();
  samples.forEach((id, i) => {
    const part = byId.has(id) ? (partOfNode.get(id) ?? REST) : REST;
    ms.set(part, (ms.get(part) ?? 0) + (timeDeltas[i] ?? 0) / 1000);
  });
  return ms;
}

export async function benchBudget({ documents = DOCUMENTS, isPlain, say }: BenchOptions): Promise<Result[]> {
  if (existsSync(MEMORY_FOLDER)) process.env['TMPDIR'] = MEMORY_FOLDER;
  using build = Build.make();
  await using service = await startNullService(build, { isPlain, profileDir: undefined });
  const profileDir = mkdtempSync(join(tmpdir(), 'cosmig-bench-profile-'));
  try {
    say(`copying ${documents.toLocaleString('en-US')} documents`);
    const plain = await copyIn({ build, service, profileDir: undefined }, 'cosmig', [WARM_UP, documents]);
    say('the same with a CPU profile');
    await copyIn({ build, service, profileDir }, 'cosmig', [WARM_UP, documents]);
    const [file = ''] = readdirSync(profileDir);
    const ms = msByPart(JSON.parse(readFileSync(join(profileDir, file), 'utf8')) as Profile);
    ms.delete('waiting');
    const sumMs = [...ms.values()].reduce((sum, one) => sum + one, 0);
    const { cpuMs = Number.NaN } = plain.at(-1) ?? {};
    const usEach = (cpuMs * 1000) / documents;
    const listed = [...ms].toSorted(([, a], [, b]) => b - a);
    return [
      { name: 'cosmig copy, without a profile', value: usEach, unit: 'us/doc' },
      ...listed.map(([part, partMs]) => ({
        name: part,
        value: (usEach * partMs) / sumMs,
        unit: 'us/doc',
        note: `${((100 * partMs) / sumMs).toFixed(1)} %`,
      })),
    ];
  } finally {
    rmSync(profileDir, { recursive: true });
  }
}
