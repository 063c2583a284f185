/** An incomplete report must be reported as an error. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { built } from '../../../helpers/process/built.ts';

const CHILD = built(new URL('../../../helpers/process/report-child.ts', import.meta.url));

test('verify report: the disk takes only a part -> error', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cosmig-report-'));
  try {
    const path = join(folder, 'proof.json');
    const words = [process.execPath, CHILD, path];
    // A file that may grow no more is like a disk that fills up: it takes what it has room for.
    const script = `trap '' XFSZ; ulimit -f 16; exec "$@"`;
    const env = { ...process.env, TSX_DISABLE_CACHE: '1' };
    const { stdout, stderr } = spawnSync('sh', ['-c', script, 'sh', ...words], { env, encoding: 'utf8' });
    expect([stdout, stderr]).toEqual([`the report cannot be written to ${path}`, '']);
    expect(statSync(path).size).toBeGreaterThan(0);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
