/**
 * Starts the emulator: opens the account's data file and the server, and closes both. dispatch.ts answers the requests.
 *
 * Invariant: one process at a time has a data file open, because every emulator answers from its own memory.
 */
import { createServer, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../../lib/clock.ts';
import { NotReadyError, UsageError } from '../../lib/errors.ts';
import { asDatabaseError } from '../../lib/sqlite/database-errors.ts';
import { migrate, openDatabase } from '../../lib/sqlite/sqlite.ts';
import { LocalAccount } from '../account/account.ts';
import { runBackground } from '../partitions/background.ts';
import { serverNames } from './callers.ts';
import { selfSignedCertificate } from './certificate.ts';
import { endpointHost } from './endpoint-host.ts';
import { Dispatcher } from './dispatch.ts';
import { Refusal } from './refusal.ts';

export interface EmulatorOptions {
  readonly host: string;
  /** More names by which clients may reach the account, for example the name of a Docker container. */
  readonly allowHosts?: readonly string[];
  /** The port to listen on; 0 takes any free port. */
  readonly port: number;
  readonly https: boolean;
  /** The path of the data file, or ':memory:'. */
  readonly data: string;
  /** The account key, base64. */
  readonly key: string;
  /** A second account key that may only read and query, base64. */
  readonly readonlyKey?: string;
  /** Account settings that are applied at the start, as `PUT /_emulator/account` accepts them. */
  readonly settings?: Readonly<Record<string, unknown>>;
}

export interface RunningEmulator {
  readonly endpoint: string;
  readonly connectionString: string;
  /** The certificate that a client must trust (PEM); undefined without https. */
  readonly certificate: string | undefined;
  /** Rejects when the account's background work fails (a full disk, for example); resolves after `close`. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

/** The account key that Microsoft publishes for its own emulator. It is public, so it protects nothing. */
export const PUBLISHED_KEY =
  'C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==';

/** How long an idle connection stays open: longer than the SDK keeps one, so that the server never closes it first. */
const KEEP_ALIVE_MS = 120_000;
/** How long a client may take to send the head of a request before the server disconnects it. */
const HEADERS_TIMEOUT_MS = 60_000;

function openAccount(options: EmulatorOptions): { account: LocalAccount; close: () => void } {
  // With NORMAL every committed write survives the death of the process; a power failure may lose the latest writes.
  // Pages of 8 KB store documents of 1 KB with a fifth less waste and CPU than 4 KB pages (bench, 400,000 documents).
  // Another emulator keeps its lock on the file as long as it runs, so a longer wait for the lock would rarely help.
  const database = openDatabase({
    path: options.data,
    synchronous: 'NORMAL',
    pageSize: 8192,
    busyTimeoutMs: 1_000,
  });
  try {
    if (options.data !== ':memory:') database.pragma('locking_mode = EXCLUSIVE');
    migrate(database, 'emulator');
    if (options.data !== ':memory:') database.exec('BEGIN EXCLUSIVE; COMMIT');
    const account = new LocalAccount(database, systemClock);
    if (options.settings !== undefined) account.configure(options.settings);
    return { account, close: () => void database.close() };
  } catch (error) {
    database.close();
    if (error instanceof Refusal)
      throw new UsageError('invalid account settings', {
        why: error.message.replace(/\.$/, ''),
        hint: 'correct them in the file of --config',
      });
    // The exclusive lock may be refused here, too: another emulator that started at the same moment has taken it.
    throw asDatabaseError(error, options.data);
  }
}

/** What the message says when listening fails, by the system's error code. */
const LISTENING: Readonly<
  Record<string, { readonly what: string; readonly why: string; readonly hint: string }>
> = {
  EADDRINUSE: {
    what: 'is in use',
    why: 'another process listens on this port',
    hint: 'choose another port with --port (0 takes any free one), or stop the other process',
  },
  EACCES: {
    what: 'cannot be used',
    why: 'the system reserves this port for privileged processes',
    hint: 'choose a port above 1023 with --port',
  },
  EADDRNOTAVAIL: {
    what: 'cannot be used',
    why: 'this machine has no such address',
    hint: 'use --host 127.0.0.1, or 0.0.0.0 to listen on every address of this machine',
  },
};

async function listen(server: Server, options: EmulatorOptions): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException): void => {
      const trouble = LISTENING[error.code ?? ''];
      if (trouble === undefined) return reject(error);
      const { what, ...parts } = trouble;
      reject(new NotReadyError(`${options.host}:${options.port} ${what}`, { ...parts, cause: error }));
    };
    server.once('error', onError);
    server.listen(options.port, options.host, () => {
      server.off('error', onError);
      resolve();
    });
  });
  return (server.address() as AddressInfo).port;
}

export async function startEmulator(options: EmulatorOptions): Promise<RunningEmulator> {
  if (Buffer.from(options.key, 'base64').length === 0) {
    throw new UsageError('the account key is not base64', {
      why: 'requests are signed with the bytes that it encodes',
      hint: 'omit --key to use the published emulator key',
    });
  }
  const { allowHosts = [] } = options;
  const { account, close: closeAccount } = openAccount(options);
  const stopping = new AbortController();
  try {
    const certificate = options.https
      ? selfSignedCertificate(
          ['localhost', '127.0.0.1', '::1', options.host, ...allowHosts],
          systemClock.now(),
        )
      : undefined;
    const { key, readonlyKey } = options;
    const dispatcher = new Dispatcher({
      account,
      keys: { key, readonlyKey },
      names: serverNames(options.host, allowHosts),
      signal: stopping.signal,
    });
    const handle = dispatcher.handle.bind(dispatcher);
    // By default Node itself refuses a request without a host, and its answer lacks the JSON body of an error.
    const lenient = { requireHostHeader: false };
    const server =
      certificate === undefined
        ? createServer(lenient, handle)
        : createSecureServer({ ...certificate, ...lenient }, handle);
    server.keepAliveTimeout = KEEP_ALIVE_MS;
    server.headersTimeout = HEADERS_TIMEOUT_MS;
    server.on('clientError', dispatcher.refuseMalformed.bind(dispatcher));
    // By default Node itself refuses an unknown `expect` header. Here the header is ignored.
    server.on('checkExpectation', handle);
    const port = await listen(server, options);
    const endpoint = `${options.https ? 'https' : 'http'}://${await endpointHost(options.host)}:${port}/`;
    dispatcher.endpoint = endpoint;
    const ended = runBackground(account, stopping.signal).catch((error: unknown) => {
      throw asDatabaseError(error, options.data);
    });
    // The command watches `ended`. Another caller may ignore it and must not crash because of an unhandled rejection.
    ended.catch(() => {});
    return {
      endpoint,
      connectionString: `AccountEndpoint=${endpoint};AccountKey=${options.key};`,
      certificate: certificate?.cert,
      ended,
      close: async () => {
        stopping.abort(new Error('the emulator is closing'));
        const closed = new Promise<void>((resolve) => server.close(() => resolve()));
        server.closeAllConnections();
        await Promise.allSettled([closed, ended, dispatcher.idle()]);
        closeAccount();
      },
    };
  } catch (error) {
    closeAccount();
    throw error;
  }
}
