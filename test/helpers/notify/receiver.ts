/** A receiver of notifications on this machine, which can fail in every way a receiver fails. */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Notification } from '../../../src/report/json/notification.ts';

/** One request, as it arrived. */
export interface Arrived {
  readonly headers: IncomingHttpHeaders;
  readonly path: string;
  readonly body: Buffer;
}

/** What the receiver does with the nth request: answers with a status, or never answers. */
export type Answer = (nth: number) => number | 'hangs' | Promise<number>;

export class NotificationReceiver implements AsyncDisposable {
  readonly arrived: Arrived[] = [];
  answer: Answer = () => 200;
  reply = 'thank you';
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => void this.#take(request, response));
  }

  static async open(): Promise<NotificationReceiver> {
    const receiver = new NotificationReceiver();
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook?token=hidden-in-the-query`;
  }

  /** All that arrived, also what was sent again. */
  get notifications(): Notification[] {
    return this.arrived.map(({ body }) => JSON.parse(body.toString()) as Notification);
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    this.arrived.push({ headers: request.headers, path: request.url ?? '', body });
    const answer = await this.answer(this.arrived.length);
    if (answer !== 'hangs') response.writeHead(answer).end(this.reply);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => void this.#server.close(() => resolve()));
  }
}

/** A notification in a few words: its event and, of a cutover, its step. */
export function briefly({ event, phase, cutover, proof, end }: Notification): string {
  const detail = cutover?.step ?? proof?.result ?? end?.exitCode ?? (event === 'phase' ? phase : undefined);
  return detail === undefined ? event : `${event}: ${detail}`;
}
