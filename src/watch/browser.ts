/** Opens an address in the browser of the person at this machine. */
import { spawn } from 'node:child_process';
import { platform } from 'node:os';

const OPENERS: Readonly<Record<string, readonly string[]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
  linux: ['xdg-open'],
};

/** Returns whether a program was started that opens the address. */
export async function openBrowser(url: string): Promise<boolean> {
  const [program, ...before] = OPENERS[platform()] ?? [];
  if (program === undefined) return false;
  return new Promise((resolve) => {
    const child = spawn(program, [...before, url], { detached: true, stdio: 'ignore' });
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}
