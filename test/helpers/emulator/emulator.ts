/** A fresh emulator for a test: in memory, on a free port, with nothing throttled unless asked for. */
import { PUBLISHED_KEY, startEmulator } from '../../../src/emulator/http/server.ts';
import { Admin, type AccountSettings } from './admin.ts';
import { within } from '../wait.ts';

/** The emulator gives a silent client 60 s. A server that takes half of that to stop waits for one. */
const CLOSE_WITHIN_MS = 30_000;

export interface TestEmulatorOptions {
  readonly settings?: AccountSettings;
  readonly https?: boolean;
  readonly data?: string;
  readonly host?: string;
  readonly allowHosts?: readonly string[];
  readonly port?: number;
  readonly key?: string;
}

export interface TestEmulator extends AsyncDisposable {
  readonly endpoint: string;
  readonly key: string;
  readonly connectionString: string;
  readonly certificate: string | undefined;
  readonly admin: Admin;
  close(): Promise<void>;
}

export async function startTestEmulator(options: TestEmulatorOptions = {}): Promise<TestEmulator> {
  const key = options.key ?? PUBLISHED_KEY;
  const running = await startEmulator({
    host: options.host ?? '127.0.0.1',
    ...(options.allowHosts === undefined ? {} : { allowHosts: options.allowHosts }),
    port: options.port ?? 0,
    https: options.https ?? false,
    data: options.data ?? ':memory:',
    key,
    settings: { ru: 'off', ...options.settings },
  });
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= within(running.close(), CLOSE_WITHIN_MS, 'closing the emulator');
    return closing;
  };
  return {
    endpoint: running.endpoint,
    key,
    connectionString: running.connectionString,
    certificate: running.certificate,
    admin: new Admin(running.endpoint, running.certificate),
    close,
    [Symbol.asyncDispose]: close,
  };
}
