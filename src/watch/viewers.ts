/**
 * The open pages, and the events that they receive. Invariants: what changes is written once for all of them; a viewer
 * that does not read holds at most one message, and gets the whole state when it reads again.
 */
import type { ServerResponse } from 'node:http';

/** The parts of a page that change: the markup of each, by the id of its element. */
export type Parts = Readonly<Record<string, string>>;

/** How soon a page tries again after its connection has broken. */
const RETRY_MS = 1000;

export class Viewers {
  /** Resolves with the first viewer. */
  readonly first: Promise<void>;
  #isFirst = (): void => {};
  readonly #viewers = new Set<ServerResponse>();
  /** Viewers that have not read the last message yet, and whether they have missed a later one. */
  readonly #behind = new Map<ServerResponse, { hasMissed: boolean }>();
  #sent: Parts = {};

  constructor() {
    this.first = new Promise((resolve) => {
      this.#isFirst = resolve;
    });
  }

  get size(): number {
    return this.#viewers.size;
  }

  /** Adds a viewer, which gets everything first. */
  add(response: ServerResponse, parts: Parts): void {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    response.write(`retry: ${RETRY_MS}\n\n`);
    this.#viewers.add(response);
    this.#isFirst();
    response.on('close', () => {
      this.#viewers.delete(response);
      this.#behind.delete(response);
    });
    response.on('drain', () => {
      const hasMissed = this.#behind.get(response)?.hasMissed ?? false;
      this.#behind.delete(response);
      if (hasMissed) this.#write(response, event('parts', this.#sent));
    });
    this.#sent = { ...this.#sent, ...parts };
    this.#write(response, event('parts', this.#sent));
  }

  /** Sends what has changed to every viewer that has read what came before. */
  send(parts: Parts): void {
    const changed = Object.entries(parts).filter(([id, markup]) => this.#sent[id] !== markup);
    this.#sent = { ...this.#sent, ...parts };
    // Also when nothing has changed: a page that receives nothing for a while takes its connection for broken.
    const message = event('parts', Object.fromEntries(changed));
    for (const viewer of this.#viewers) {
      const behind = this.#behind.get(viewer);
      if (behind === undefined) this.#write(viewer, message);
      else behind.hasMissed = true;
    }
  }

  /** Sends the last state with the information that no more will come, and closes the connections. */
  end(parts: Parts): void {
    this.send(parts);
    for (const viewer of this.#viewers) viewer.end(event('end', {}));
  }

  #write(viewer: ServerResponse, message: string): void {
    if (!viewer.write(message)) this.#behind.set(viewer, { hasMissed: false });
  }
}

/** An event of a stream of server-sent events. JSON has no line ends outside of texts, and escapes those in texts. */
function event(name: string, data: Parts): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
