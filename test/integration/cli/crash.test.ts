/** An error that no code expected, wherever in the process it arises: exit code 70, and one message to report. */
import { expect, test } from 'vitest';
import { startCosmig } from '../../helpers/process/cosmig-process.ts';
import type { Ran } from '../../helpers/run-cosmig.ts';

/** Runs the emulator, in whose process `code` runs a moment after the program was loaded. */
async function crash(code: string, ...more: readonly string[]): Promise<Ran> {
  const script = `const wait = setInterval(() => {
    if (process.listenerCount('uncaughtException') === 0) return;
    clearInterval(wait);
    setTimeout(() => { ${code} }, 200);
  }, 50);`;
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}` };
  await using child = startCosmig(['emulator', '--port', '0', ...more], env);
  return await child.ended;
}

const CRASHES = [
  ['an exception in a timer', "throw new Error('lost')"],
  ['a rejected promise without an owner', "void Promise.reject(new Error('lost'))"],
  ['an exception in a microtask', "queueMicrotask(() => { throw new Error('lost'); })"],
  ['an error event without a listener', "process.emit('error', new Error('lost'))"],
] as const;

test.each(CRASHES)('crash: %s -> exit code 70, and how to report it', async (_what, code) => {
  const { code: exitCode, stderr } = await crash(code);
  expect(exitCode).toBe(70);
  expect(stderr).not.toContain('    at ');
  // The emulator may have said before that it is ready.
  expect(stderr.slice(stderr.indexOf('cosmig:'))).toBe(
    'cosmig: Error: lost\n' +
      '  why  this is a bug in cosmig: an unexpected error occurred\n' +
      '  now  run it again with --verbose and report what it prints\n',
  );
});

test('crash: something thrown that is not an error, with --json -> one JSON object a line', async () => {
  const { code, stderr } = await crash("throw 'lost'", '--json');
  expect(code).toBe(70);
  const lines = stderr.trim().split('\n');
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ code: 'internal', message: 'lost' });
});
