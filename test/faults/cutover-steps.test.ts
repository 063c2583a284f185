/**
 * A cutover that is killed at each step, one after the other: in the transaction of every line of its journal and right
 * behind it, and by its own hooks. Invariant: the journal says "committed" only when both sides hold the same, status
 * names a command that leads on, and what is done once stays done.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import type { ChildOrder, Strike } from './harness/cutover/cutover-child.ts';
import { Move } from '../helpers/migration/move.ts';
import { cosmig, envOf, SPEC, typed } from '../helpers/migration/typed.ts';
import { built } from '../helpers/process/built.ts';

const CHILD = built(new URL('harness/cutover/cutover-child.ts', import.meta.url));

type Death = { readonly line: string; readonly at: 'journal' | 'journalled' } | { readonly hook: string };

const around = (line: string): readonly Death[] => [
  { line, at: 'journal' },
  { line, at: 'journalled' },
];
/** In the order in which they come; from the commit on nothing leads back. */
const DEATHS: readonly Death[] = [
  ...around('phase ready'),
  // Of the cutover that begins after one that has died.
  ...around('phase tailing'),
  ...around('phase fencing'),
  { hook: 'on-fence' },
  ...around('phase drained'),
  ...around('phase proven'),
  ...around('phase committed'),
  { hook: 'on-commit' },
  ...around('application switched'),
  ...around('late write watch ended'),
];

class Cutting {
  readonly move: Move;
  readonly log: string;
  constructor(move: Move) {
    this.move = move;
    this.log = `${move.ledgerPath}-hooks`;
  }

  /** How it ended: the signal, or the exit code. */
  async cutOver(death: Death | null): Promise<string> {
    const strike: Strike | undefined =
      death !== null && 'line' in death ? { at: death.at, event: death.line, passing: 1 } : undefined;
    const order: ChildOrder = { requestTimeoutMs: 300, ...(strike === undefined ? {} : { strike }) };
    const hooks = ['on-fence', 'on-commit'].flatMap((hook) => {
      const kill = death !== null && 'hook' in death && death.hook === hook ? '; kill -9 $PPID' : '';
      return [`--${hook}`, `echo ${hook} >> ${this.log}${kill}`];
    });
    const argv = ['cutover', ...hooks, '--quiet-for', '1s', '--watch-writes', '1s', ...SPEC];
    const child = spawn(process.execPath, [CHILD, ...argv], {
      env: { ...envOf(this.move), CHILD_ORDER: JSON.stringify(order) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const [stderr] = await Promise.all([text(child.stderr), once(child, 'close')]);
    return child.signalCode ?? (child.exitCode === 0 ? '0' : `${child.exitCode}: ${stderr}`);
  }

  get phase(): string {
    return this.move.ledger(({ migration }) => migration.read().phase);
  }

  /** How often the operator's command for the switch was called. */
  get switches(): number {
    if (!existsSync(this.log)) return 0;
    return readFileSync(this.log, 'utf8')
      .split('\n')
      .filter((line) => line === 'on-commit').length;
  }

  async next(): Promise<string> {
    const { stdout } = await typed(this.move, 'status', '--json');
    return (JSON.parse(stdout) as { readonly next: string }).next;
  }

  async isEqual(): Promise<boolean> {
    const { source, target } = this.move;
    const [one, other] = [await this.move.documents(source), await this.move.documents(target)];
    return JSON.stringify(one) === JSON.stringify(other);
  }
}

test('cutover: killed at every step -> its promises hold', async () => {
  await using move = await Move.open({ settings: { avad: true, pageBytes: 2000 } });
  for (let n = 0; n < 12; n += 1)
    await move.put({ id: `${n}`, customerId: `c${n % 3}`, tenantId: `t${n % 2}` });
  const cutting = new Cutting(move);
  for (const command of ['copy', 'verify']) {
    const { code } = await cosmig(move, command);
    expect(code).toBe(0);
  }
  for (const [round, death] of DEATHS.entries()) {
    // The cutover has to replicate this: until the target is in use, the application keeps writing.
    if (cutting.phase !== 'committed')
      await move.put(
        { id: `new${round}`, customerId: 'z', tenantId: 't0' },
        { id: `${round % 12}`, customerId: `c${(round % 12) % 3}`, tenantId: `moved${round}` },
      );
    const ended = await cutting.cutOver(death);
    const next = await cutting.next();
    const isCommitted = cutting.phase === 'committed';
    expect({ death, ended, next, isKept: !isCommitted || (await cutting.isEqual()) }).toEqual({
      death,
      ended: 'SIGKILL',
      next: expect.stringMatching(/cosmig (?:cutover|tail)|^nothing: the target is in use/),
      isKept: true,
    });
  }
  // Called by the run that it killed, by the run that had not recorded the call, and by the last one.
  expect(cutting.phase).toBe('committed');
  const { switches } = cutting;
  expect(await cutting.cutOver(null)).toBe('0');
  expect([switches, cutting.switches]).toEqual([3, 3]);
  expect(await cutting.next()).toMatch(/^nothing: the target is in use/);
  expect(await cutting.isEqual()).toBe(true);
  rmSync(cutting.log);
});
