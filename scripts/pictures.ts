/**
 * Makes the pictures of the live page in docs/images, from a demo that really runs, with the Chromium of this machine.
 *
 *   npm run pictures
 *
 * Invariant: a picture shows what the page shows at that moment; nothing in it is drawn afterwards.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Browser, CHROMIUM, type Page } from '../test/helpers/browser/browser.ts';

/** Each picture, and when it is taken: as soon as this is true in the page. */
const PICTURES = [
  {
    file: 'watch-tail.png',
    height: 1010,
    when: `document.querySelector('h1').textContent === 'Replicating and comparing'`,
  },
  {
    file: 'watch-cutover.png',
    height: 816,
    when: `document.querySelector('h1').textContent === 'Cutover: comparing both sides'
      && document.querySelector('.headline p').textContent.startsWith('The writers of the application have been stopped')`,
  },
] as const;

/** More would be unreadable in a page of docs, which is about half as wide. */
const WIDTH = 1120;
/** The package contains the pictures. */
const BYTES_MAX = 150_000;
const LOOK_EVERY_MS = 100;

async function main(): Promise<number> {
  if (CHROMIUM === undefined) {
    process.stderr.write('no Chromium on this machine; COSMIG_CHROMIUM may name one\n');
    return 1;
  }
  const root = fileURLToPath(new URL('..', import.meta.url));
  const demo = spawn(process.execPath, ['bin/cosmig.js', 'demo', '--watch', '0'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(demo, 'exit').then(() => 'ended' as const);
  try {
    const url = await Promise.race([addressIn(demo.stderr), ended]);
    if (url === 'ended') throw new Error('the demo has ended without a page');
    await using browser = await Browser.open(CHROMIUM);
    const page = await browser.page();
    await page.show({ width: WIDTH, height: 800 });
    await page.open(url);
    for (const { file, height, when } of PICTURES) {
      const seen = await Promise.race([untilTrue(page, when), ended]);
      if (seen === 'ended') throw new Error(`the demo has ended without the moment for ${file}`);
      await page.show({ width: WIDTH, height });
      const picture = await page.screenshot('screen');
      if (picture.length > BYTES_MAX) throw new Error(`${file} has ${picture.length} bytes`);
      writeFileSync(`${root}docs/images/${file}`, picture);
      process.stdout.write(`${file}: ${picture.length} bytes\n`);
    }
    await ended;
    return 0;
  } finally {
    demo.kill();
  }
}

/** The address of the page, which the demo prints. The rest of what it prints is read too, so that it never waits. */
async function addressIn(stream: NodeJS.ReadableStream): Promise<string> {
  return new Promise((resolve) => {
    createInterface(stream).on('line', (line) => {
      const [address] = /http:\/\/127\.0\.0\.1:\d+\/[\w-]+\//.exec(line) ?? [];
      if (address !== undefined) resolve(address);
    });
  });
}

async function untilTrue(page: Page, when: string): Promise<'seen'> {
  while (!(await page.evaluate<boolean>(when))) await delay(LOOK_EVERY_MS);
  return 'seen';
}

process.exitCode = await main();
