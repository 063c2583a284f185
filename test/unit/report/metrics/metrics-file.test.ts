/** The file of --metrics-file: whole or as before, never that of another program, and never the end of a run. */
import { mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createLog } from '../../../../src/lib/log.ts';
import { MetricsFile } from '../../../../src/report/metrics/metrics-file.ts';
import { VirtualClock } from '../../../helpers/clock.ts';
import { temporaryFolder } from '../../state/making.ts';

const TEXT = '# HELP cosmig_a A.\n# TYPE cosmig_a gauge\ncosmig_a 1\n';

function open(path: string): { readonly file: MetricsFile; readonly lines: string[] } {
  const lines: string[] = [];
  const log = createLog({
    level: 'info',
    format: 'text',
    clock: new VirtualClock(),
    write: (line) => lines.push(line),
  });
  return { file: new MetricsFile(path, log), lines };
}

describe('metrics file', () => {
  test('written again and again -> the newest text, for every user, and nothing else in the folder', () => {
    const folder = temporaryFolder();
    const path = join(folder, 'a.prom');
    const { file, lines } = open(path);
    const mask = process.umask(0o077);
    try {
      file.write(() => TEXT);
      file.write(() => `${TEXT}cosmig_b 2\n`);
    } finally {
      process.umask(mask);
    }
    expect(readFileSync(path, 'utf8')).toBe(`${TEXT}cosmig_b 2\n`);
    expect(statSync(path).mode & 0o777).toBe(0o644);
    expect(readdirSync(folder)).toEqual(['a.prom']);
    expect(lines).toEqual([]);
  });

  test('it is replaced, not written into -> who reads the old file reads the whole old text', () => {
    const path = join(temporaryFolder(), 'a.prom');
    const { file } = open(path);
    file.write(() => TEXT);
    const before = statSync(path).ino;
    file.write(() => TEXT);
    expect(statSync(path).ino).not.toBe(before);
  });

  test.each([
    ['a missing folder', (folder: string) => join(folder, 'missing', 'a.prom'), 'no such file or folder'],
    [
      'a folder',
      (folder: string) => {
        mkdirSync(join(folder, 'a.prom'));
        return join(folder, 'a.prom');
      },
      'it is a folder',
    ],
    ['a device', () => '/dev/null', 'it is a device'],
    [
      'a file of another program',
      (folder: string) => {
        writeFileSync(join(folder, 'a.prom'), 'SQLite format 3\0');
        return join(folder, 'a.prom');
      },
      'it is a file of another program',
    ],
  ])('%s -> one warning, and it stays as it is', (_what, make, why) => {
    const folder = temporaryFolder();
    const path = make(folder);
    const { file, lines } = open(path);
    const before = readdirSync(folder);
    file.write(() => TEXT);
    file.write(() => TEXT);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(`the metrics cannot be written to ${path}`);
    expect(lines[0]).toContain(why);
    expect(readdirSync(folder)).toEqual(before);
  });

  test('the state cannot be read -> one warning, and the last text stays', () => {
    const path = join(temporaryFolder(), 'a.prom');
    const { file, lines } = open(path);
    file.write(() => TEXT);
    file.write(() => {
      throw new Error('the disk is gone');
    });
    expect(lines).toEqual([expect.stringContaining('the disk is gone')]);
    expect(readFileSync(path, 'utf8')).toBe(TEXT);
  });

  test('the file is a link -> the link stays, and the file behind it is replaced', () => {
    const folder = temporaryFolder();
    const [path, real] = [join(folder, 'a.prom'), join(folder, 'real.prom')];
    symlinkSync(real, path);
    open(path).file.write(() => TEXT);
    expect(readFileSync(real, 'utf8')).toBe(TEXT);
  });
});
