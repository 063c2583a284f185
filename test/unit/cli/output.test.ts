import { describe, expect, test } from 'vitest';
import type { RenderLine } from '../../../src/cli/command.ts';
import { Output } from '../../../src/cli/output.ts';
import { printable } from '../../../src/lib/json/printable.ts';
import { VirtualClock } from '../../helpers/clock.ts';

function open(more: { json?: boolean; quiet?: boolean; isLive?: boolean; columns?: number } = {}) {
  const { json = false, quiet = false, isLive = false, columns } = more;
  const clock = new VirtualClock();
  let stdout = '';
  let stderr = '';
  const lines: (string | null)[] = [];
  const live = { show: (lineOf: RenderLine) => lines.push(lineOf(40)), hide: () => lines.push(null) };
  const out = new Output({
    stdout: { write: (text: string) => (stdout += text) },
    stderr: {
      write: (text: string) => (stderr += text),
      ...(columns === undefined ? {} : { isTTY: true, columns }),
    },
    clock,
    json,
    quiet,
    verbose: false,
    color: false,
    ...(isLive ? { live } : {}),
  });
  return { out, clock, lines, said: () => stderr, printed: () => stdout };
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

describe('a hostile text, as from the id of a document', () => {
  const HOSTILE = 'a\u001b[2Jb\u009b2Jc\u202ed\u200be\rf';
  const SHOWN = String.raw`a\u001b[2Jb\u009b2Jc\u202ed\u200be\u000df`;
  const explanation = {
    exitCode: 4,
    code: 'mismatch',
    message: HOSTILE,
    why: HOSTILE,
    hint: HOSTILE,
    problems: [],
  } as const;

  test.each([{ json: false }, { json: true }])('%o: each way of printing -> is escaped', async ({ json }) => {
    const { out, clock, said, printed } = open({ json });
    clock.advance(5000);
    out.note(HOSTILE);
    out.progress({ id: HOSTILE }, () => HOSTILE);
    await out.line(HOSTILE, { id: HOSTILE });
    out.announce({ json: { id: HOSTILE }, text: HOSTILE, aside: HOSTILE });
    out.failure('verify', explanation, new Error(HOSTILE));
    out.log.error(HOSTILE, { id: HOSTILE });
    const text = said() + printed();
    expect(text).toBe(printable(text));
    expect(text.split('2Jb').length).toBeGreaterThan(7);
  });

  test('a failure -> its three lines stay three lines', () => {
    const { out, said } = open({});
    out.failure('verify', explanation, new Error(HOSTILE));
    expect(said()).toBe(`cosmig: ${SHOWN}\n  why  ${SHOWN}\n  now  ${SHOWN}\n`);
  });

  test('the live line -> is escaped and still fits', () => {
    const { out, lines } = open({ isLive: true });
    out.progress({}, (columns) => HOSTILE.repeat(20).slice(0, columns));
    const [line] = lines;
    expect(line).toHaveLength(40);
    expect(line).toBe(SHOWN.repeat(3).slice(0, 40));
  });
});

describe('a message that is wider than the terminal', () => {
  const LONG = 'another process holds the ledger, so this one cannot write to it now';

  test('a note -> broken between words', () => {
    const { out, said } = open({ columns: 40 });
    out.note(LONG);
    expect(said()).toBe('another process holds the ledger, so\nthis one cannot write to it now\n');
  });

  test('a wide terminal -> as wide as the tables of results', () => {
    const { out, said } = open({ columns: 200 });
    out.note(`${LONG}; ${LONG}`);
    expect(said().split('\n')[0]).toBe(
      'another process holds the ledger, so this one cannot write to it now; another',
    );
  });

  test('a failure -> its reasons stay in their column', () => {
    const { out, said } = open({ columns: 40 });
    const failed = { exitCode: 6, code: 'service', message: 'm', why: LONG, hint: 'wait', problems: [] };
    out.failure('verify', failed, new Error('m'));
    expect(said()).toBe(
      'cosmig: m\n  why  another process holds the ledger,\n       so this one cannot write to it\n       now\n  now  wait\n',
    );
  });

  test('a failure with a long message, and a warning -> broken between words, the warning below its text', () => {
    const { out, said } = open({ columns: 40 });
    const failed = { exitCode: 6, code: 'service', message: LONG, why: 'w', hint: 'wait', problems: [] };
    out.failure('verify', failed, new Error('m'));
    out.log.warn('another process has written to the source', { range: '0', now: 'stop that process' });
    expect(said()).toMatch(
      /^cosmig: another process holds the\nledger, so this one cannot write to it\nnow\n {2}why {2}w\n {2}now {2}wait\n/,
    );
    expect(said()).toMatch(
      /\n\S{8} warn another process\n {9}has written to the source\n {9}range=0; now: stop that process\n$/,
    );
  });

  test('a command of the Azure CLI -> one line, to be pasted', () => {
    const { out, said } = open({ columns: 40 });
    const line = 'create it: az cosmosdb sql database create --account-name a --name shop';
    out.note(line);
    expect(said()).toBe(`${line}\n`);
  });

  test('a log -> one line', () => {
    const { out, said } = open();
    out.note(LONG);
    expect(said()).toBe(`${LONG}\n`);
  });
});
