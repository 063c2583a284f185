import { describe, expect, test } from 'vitest';
import type { RenderLine } from '../../../src/cli/command.ts';
import { Output } from '../../../src/cli/output.ts';
import { VirtualClock } from '../../helpers/clock.ts';

function open(more: { json?: boolean; quiet?: boolean; isLive?: boolean } = {}) {
  const { json = false, quiet = false, isLive = false } = more;
  const clock = new VirtualClock();
  let stderr = '';
  const lines: (string | null)[] = [];
  const live = { show: (lineOf: RenderLine) => lines.push(lineOf(40)), hide: () => lines.push(null) };
  const out = new Output({
    stdout: { write: () => true },
    stderr: { write: (text: string) => (stderr += text) },
    clock,
    json,
    quiet,
    verbose: false,
    color: false,
    ...(isLive ? { live } : {}),
  });
  return { out, clock, lines, said: () => stderr };
}

const lineOf: RenderLine = (columns) => `within ${columns}`;

describe('progress', () => {
  test.each([
    [{}, 'within Infinity\n'],
    [{ json: true }, '{"progress":{"n":2}}\n'],
    [{ json: true, isLive: true }, '{"progress":{"n":2}}\n'],
    [{ quiet: true }, ''],
    [{ quiet: true, isLive: true }, ''],
  ])('%o -> a line at most every 5 s', (more, said) => {
    const { out, clock, lines, said: read } = open(more);
    clock.advance(4000);
    out.progress({ n: 1 }, lineOf);
    clock.advance(1000);
    out.progress({ n: 2 }, lineOf);
    clock.advance(4999);
    out.progress({ n: 3 }, lineOf);
    expect(read()).toBe(said);
    expect(lines).toEqual([]);
  });

  test('a long run -> fewer lines, at least one a minute', () => {
    const { out, clock, said } = open({});
    const linesIn = (seconds: number): number => {
      const before = said().length;
      for (let second = 0; second < seconds; second += 1) {
        clock.advance(1000);
        out.progress({}, () => '.');
      }
      return (said().length - before) / 2;
    };
    expect(linesIn(300)).toBe(60);
    expect(linesIn(3300)).toBeLessThan(200);
    expect(linesIn(24 * 3600)).toBe(24 * 60);
  });

  test('a terminal -> one line that changes, removed before the result', () => {
    const { out, lines, said } = open({ isLive: true });
    out.progress({}, lineOf);
    out.progress({}, lineOf);
    out.announce({ json: {}, text: 'done' });
    expect(lines).toEqual(['within 40', 'within 40', null]);
    expect(said()).toBe('');
  });
});
