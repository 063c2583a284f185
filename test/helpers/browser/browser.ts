/**
 * A real browser for tests: Chromium without a window, spoken to over two pipes with the DevTools protocol, so that no
 * package and no port is needed. CI's runners have one; Debian's package is called chromium.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';

const PATHS = [
  '/usr/bin/google-chrome',
  '/usr/bin/chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

/** The browser of this machine; undefined: there is none, and its tests are skipped. */
export const CHROMIUM = [process.env['COSMIG_CHROMIUM'] ?? '', ...PATHS].find((path) => existsSync(path));

type Parameters = Readonly<Record<string, unknown>>;
type Reply = Readonly<Record<string, unknown>>;
interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Reply;
  readonly result?: Reply;
  readonly error?: { readonly message: string };
  readonly sessionId?: string;
}

export class Browser implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #waiting = new Map<number, { resolve: (reply: Reply) => void; reject: (error: Error) => void }>();
  readonly #listeners: Array<(message: Message) => void> = [];
  #sent = 0;

  private constructor(path: string) {
    this.#folder = mkdtempSync(join(tmpdir(), 'cosmig-chromium-'));
    this.#child = spawn(
      path,
      [
        '--headless=new',
        '--remote-debugging-pipe',
        '--no-sandbox',
        '--disable-gpu',
        '--disable-dev-shm-usage',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--hide-scrollbars',
        `--user-data-dir=${this.#folder}`,
        'about:blank',
      ],
      { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] },
    );
    const stop = (error?: Error): void => {
      for (const { reject } of this.#waiting.values()) reject(error ?? new Error('the browser has ended'));
      this.#waiting.clear();
    };
    this.#child.on('error', stop).on('exit', () => stop());
    let rest = '';
    const input = this.#child.stdio[4] as Readable;
    input.setEncoding('utf8').on('data', (text: string) => {
      const parts = (rest + text).split('\0');
      rest = parts.pop() ?? '';
      for (const part of parts) this.#receive(JSON.parse(part) as Message);
    });
    (this.#child.stdio[3] as Writable).on('error', stop);
  }

  static async open(path: string): Promise<Browser> {
    const browser = new Browser(path);
    await browser.send('Browser.getVersion');
    return browser;
  }

  send(method: string, params: Parameters = {}, sessionId?: string): Promise<Reply> {
    const id = (this.#sent += 1);
    (this.#child.stdio[3] as Writable).write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  listen(listener: (message: Message) => void): void {
    this.#listeners.push(listener);
  }

  async page(): Promise<Page> {
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    const page = new Page(this, String(sessionId));
    await page.prepare();
    return page;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const ended = new Promise((resolve) => this.#child.once('exit', resolve));
      // Closing ends the processes of the browser in order; a killed one leaves children that still write files.
      this.send('Browser.close').catch(() => this.#child.kill('SIGKILL'));
      await ended;
    }
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }

  #receive(message: Message): void {
    if (message.id === undefined) {
      for (const listener of this.#listeners) listener(message);
      return;
    }
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.error === undefined) waiting?.resolve(message.result ?? {});
    else waiting?.reject(new Error(message.error.message));
  }
}

export interface Screen {
  readonly width: number;
  readonly height: number;
  readonly dark?: boolean;
}

/** A page of the browser, with everything that went wrong in it. */
export class Page {
  /** Errors and warnings of the console, and requests for anything but the page itself. */
  readonly complaints: string[] = [];
  readonly #browser: Browser;
  readonly #session: string;

  constructor(browser: Browser, session: string) {
    this.#browser = browser;
    this.#session = session;
  }

  async prepare(): Promise<void> {
    this.#browser.listen(({ method, params, sessionId }) => {
      if (sessionId !== this.#session || params === undefined) return;
      if (method === 'Log.entryAdded') this.complaints.push(JSON.stringify(params['entry']));
      if (method === 'Runtime.exceptionThrown' || method === 'Runtime.consoleAPICalled')
        this.complaints.push(JSON.stringify(params));
      if (method === 'Page.javascriptDialogOpening') this.complaints.push('a dialog was opened');
      if (method === 'Network.requestWillBeSent') {
        const { url } = params['request'] as { readonly url: string };
        if (!url.startsWith('file:') && url !== 'about:blank') this.complaints.push(`requested ${url}`);
      }
    });
    for (const domain of ['Page', 'Log', 'Runtime', 'Network', 'Accessibility'])
      await this.send(`${domain}.enable`);
  }

  send(method: string, params: Parameters = {}): Promise<Reply> {
    return this.#browser.send(method, params, this.#session);
  }

  async show(screen: Screen): Promise<void> {
    const { width, height, dark = false } = screen;
    await this.send('Emulation.setDeviceMetricsOverride', {
      width,
      height,
      deviceScaleFactor: 1,
      mobile: width < 600,
    });
    const features = [{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }];
    await this.send('Emulation.setEmulatedMedia', { media: 'screen', features });
  }

  async open(url: string): Promise<void> {
    const loaded = new Promise<void>((resolve) =>
      this.#browser.listen(({ method, sessionId }) => {
        if (method === 'Page.loadEventFired' && sessionId === this.#session) resolve();
      }),
    );
    await this.send('Page.navigate', { url });
    await loaded;
  }

  /** Runs an expression in the page and returns its value. */
  async evaluate<T>(expression: string): Promise<T> {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', {
      expression,
      returnByValue: true,
      awaitPromise: true,
    });
    if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails));
    return (result as { readonly value: T }).value;
  }

  /** Takes a picture of the page, or only of the part of it that the screen shows. */
  async screenshot(part: 'whole' | 'screen' = 'whole'): Promise<Buffer> {
    const { data } = await this.send('Page.captureScreenshot', {
      format: 'png',
      captureBeyondViewport: part === 'whole',
    });
    return Buffer.from(String(data), 'base64');
  }

  async pdf(): Promise<Buffer> {
    const { data } = await this.send('Page.printToPDF', {
      preferCSSPageSize: true,
      paperWidth: 8.27,
      paperHeight: 11.69,
    });
    return Buffer.from(String(data), 'base64');
  }
}
