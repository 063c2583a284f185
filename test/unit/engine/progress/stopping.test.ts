import { describe, expect, test } from 'vitest';
import { finishTasks, RunStop, Tasks } from '../../../../src/engine/progress/stopping.ts';
import { deferred } from '../../../../src/lib/deferred.ts';
import { group } from '../../../../src/lib/group.ts';
import { createLog } from '../../../../src/lib/log.ts';
import { VirtualClock } from '../../../helpers/clock.ts';

const TIMEOUT_MS = 45_000;

/** A stopped run with one task, and what its end says. */
class Lab {
  readonly clock = new VirtualClock();
  readonly lines: string[] = [];
  readonly ended: Promise<string>;
  readonly task = deferred();
  completed = 0;
  isOverdue = false;

  constructor({ stopped = true } = {}) {
    const { clock } = this;
    const stop = new AbortController();
    if (stopped) stop.abort(new Error('stopped'));
    const log = createLog({ level: 'warn', format: 'text', clock, write: (line) => this.lines.push(line) });
    const { signal } = new AbortController();
    this.ended = group(signal, async (members) => {
      const tasks = new Tasks(members);
      tasks.start(async () => this.task.promise);
      await finishTasks(tasks, {
        stop: stop.signal,
        isOverdue: () => this.isOverdue,
        signal: members.signal,
        clock,
        log,
        progress: () => String(this.completed),
        requestTimeoutMs: TIMEOUT_MS,
      }).finally(() => this.task.resolve());
    }).then(
      () => 'finished',
      (error: Error) => error.message,
    );
  }

  /** Lets time pass second by second; returns how the run has ended, if it has. */
  async pass(seconds: number, work: () => void = () => {}): Promise<string | undefined> {
    const going = new Promise<undefined>((resolve) => setImmediate(() => resolve(undefined)));
    for (let second = 0; second < seconds; second += 1) {
      work();
      this.clock.advance(1000);
      await new Promise<void>((resolve) => setImmediate(resolve));
      const end = await Promise.race([this.ended, going]);
      if (end !== undefined) return end;
    }
    return undefined;
  }
}

describe('a stopped run', () => {
  test('operations go through -> waits for its tasks, however long they take', async () => {
    const lab = new Lab();
    expect(await lab.pass(600, () => (lab.completed += 1))).toBeUndefined();
    lab.task.resolve();
    expect(await lab.ended).toBe('finished');
    expect(lab.lines).toEqual([]);
  });

  test('no operation goes through for longer than a request may take -> ends', async () => {
    const lab = new Lab();
    lab.completed += 5;
    expect(await lab.pass(45)).toBeUndefined();
    expect(await lab.pass(15)).toBe('stopped');
    expect(lab.lines.join()).toContain('no progress');
  });

  test('far beyond its time budget -> ends, although operations go through', async () => {
    const lab = new Lab();
    expect(await lab.pass(100, () => (lab.completed += 1))).toBeUndefined();
    lab.isOverdue = true;
    expect(await lab.pass(6, () => (lab.completed += 1))).toBe('stopped');
    expect(lab.lines.join()).toContain('the time limit was exceeded');
  });
});

test('a run that is not stopped, and whose tasks stand still -> waits', async () => {
  const lab = new Lab({ stopped: false });
  expect(await lab.pass(600)).toBeUndefined();
  lab.task.resolve();
  expect(await lab.ended).toBe('finished');
});

test.each([
  [60, 60 + 12 + 9],
  [10, 10 + 2 + 9],
])('a budget of %i s -> exceeded by too much after %i s', async (budget, until) => {
  const clock = new VirtualClock();
  const stopping = new RunStop(new AbortController().signal);
  const over = new AbortController();
  const deadline = { kind: 'at', atMs: clock.now() + budget * 1000, asked: 'a test' } as const;
  const spec = { deadline } as Parameters<RunStop['atDeadline']>[0];
  const ended = stopping.atDeadline(spec, { clock, signal: over.signal, say: () => {}, drainMs: () => 0 });
  clock.advance(until * 1000);
  expect(stopping.isOverdue()).toBe(false);
  clock.advance(1);
  expect(stopping.isOverdue()).toBe(true);
  over.abort(new Error('over'));
  await ended;
});
