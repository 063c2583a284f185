/** `cosmig emulator`: runs a local Cosmos account until the operator stops it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import type { Command, OptionTable, Values } from '../cli/command.ts';
import type { EmulatorOptions, RunningEmulator } from '../emulator/http/server.ts';
import { whenAborted } from '../lib/abort.ts';
import type { EMULATOR_READY } from '../report/json/tool-results.ts';
import type { TypeOf } from '../report/json/schema.ts';
import { CanceledError, UsageError } from '../lib/errors.ts';
import { A_DEVICE, describeFsError, describeSpecialFile } from '../lib/fs-error.ts';

const IN_MEMORY = ':memory:';

const OPTIONS = {
  port: {
    type: 'number',
    default: 8081,
    min: 0,
    max: 65_535,
    env: 'COSMIG_EMULATOR_PORT',
    help: 'port to listen on; 0 takes any free one',
  },
  host: {
    type: 'text',
    value: 'HOST',
    default: '127.0.0.1',
    env: 'COSMIG_EMULATOR_HOST',
    help: 'address to listen on; any other than loopback opens it to the network',
  },
  allowHost: {
    type: 'text',
    value: 'NAMES',
    env: 'COSMIG_EMULATOR_ALLOW_HOST',
    help: 'further names by which clients reach it, separated by commas; requests to other names are refused',
  },
  https: { type: 'boolean', help: 'serve TLS, with a certificate that is made at the start' },
  certificateOut: {
    type: 'text',
    value: 'FILE',
    help: 'write that certificate (PEM) to a file, so that clients can trust it',
  },
  data: {
    type: 'text',
    value: 'FILE',
    default: IN_MEMORY,
    env: 'COSMIG_EMULATOR_DATA',
    help: 'file that keeps the data; without it, the data is lost when the emulator stops',
  },
  key: {
    type: 'text',
    value: 'KEY',
    env: 'COSMIG_EMULATOR_KEY',
    help:
      "account key in base64, by default Microsoft's published emulator key; prefer the variable, because other users " +
      'of this machine see the arguments of a process',
  },
  readonlyKey: {
    type: 'text',
    value: 'KEY',
    env: 'COSMIG_EMULATOR_READONLY_KEY',
    help: 'second key, which can read and query but not write; prefer the variable here, too',
  },
  config: {
    type: 'text',
    value: 'FILE',
    help: 'JSON file with settings of the account (docs/emulator.md lists them)',
  },
} as const satisfies OptionTable;

export const emulator: Command<typeof OPTIONS> = {
  name: 'emulator',
  summary: 'run a local Cosmos DB account',
  description:
    "Runs a Cosmos DB account on this machine for Microsoft's SDKs. Prints its connection string when it is ready, " +
    'and runs until it is stopped (Ctrl-C).',
  examples: [
    { line: 'cosmig emulator', purpose: 'an account in memory on port 8081' },
    {
      line: 'cosmig emulator --port 0 --data local.db --json',
      purpose: 'an account that keeps its data, for a script',
    },
  ],
  options: OPTIONS,
  endsWith: { ledger: 'data file' },
  async run({ options, signal, out }) {
    const server = await start(options);
    try {
      if (server.certificate !== undefined && options.certificateOut !== undefined) {
        writeCertificate(options.certificateOut, server.certificate);
      }
      const { endpoint, connectionString } = server;
      const json: TypeOf<typeof EMULATOR_READY> = { ready: true, endpoint, connectionString };
      // A key of the operator's own is not printed a second time. A message in JSON would not contain the key.
      const aside = `in other terminals:\nexport COSMIG_SOURCE_CONNECTION_STRING='${connectionString}'`;
      out.announce({ json, text: connectionString, ...(options.key === undefined ? { aside } : {}) });
      out.note(`the emulator is ready at ${endpoint}; Ctrl-C stops it`);
      if (options.data === IN_MEMORY)
        out.note('its data is in memory and is lost when it stops; --data FILE keeps it');
      await Promise.race([whenAborted(signal), server.ended]);
    } finally {
      await server.close();
    }
    throw stopped(signal, options.data);
  },
};

async function start(options: Values<typeof OPTIONS>): Promise<RunningEmulator> {
  const { host, allowHost, port, https, data, config, certificateOut, readonlyKey } = options;
  if (certificateOut !== undefined && !https) {
    throw new UsageError('--certificate-out needs --https', {
      why: 'only a server with TLS has a certificate',
      hint: 'add --https, or remove --certificate-out',
    });
  }
  const settings = config === undefined ? undefined : readSettings(config);
  // Loaded on demand, since --help does not need the server.
  const { PUBLISHED_KEY, startEmulator } = await import('../emulator/http/server.ts');
  const key = options.key === undefined ? PUBLISHED_KEY : checkKey(options.key);
  const wanted: EmulatorOptions = {
    host,
    port,
    https,
    data,
    key,
    ...(readonlyKey === undefined ? {} : { readonlyKey: checkKey(readonlyKey) }),
    ...(settings === undefined ? {} : { settings }),
    ...(allowHost === undefined ? {} : { allowHosts: readNames(allowHost) }),
  };
  try {
    return await startEmulator(wanted);
  } catch (error) {
    throw asHostError(error, host);
  }
}

function checkKey(key: string): string {
  if (key.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(key)) return key;
  throw new UsageError('the account key is not base64', {
    why: 'requests are signed with the bytes that it encodes',
    hint: 'make one with: openssl rand -base64 64 | tr -d "\\n"',
  });
}

function readNames(names: string): string[] {
  return names.split(',').map((name) => {
    const trimmed = name.trim();
    if (/^[^\s/:@]+$/.test(trimmed) || isIP(trimmed) === 6) return trimmed;
    throw new UsageError(`--allow-host has no name in ${JSON.stringify(name)}`, {
      why: 'it takes names or addresses of hosts, without scheme and port',
      hint: 'for example --allow-host emulator,emulator.example.com',
    });
  });
}

function readSettings(file: string): Record<string, unknown> {
  const unusable = (why: string, cause?: unknown): UsageError =>
    new UsageError(`${file} cannot be used as --config`, {
      why,
      hint: 'give a JSON file with settings, for instance {"avad": true}',
      cause,
    });
  const special = describeSpecialFile(file);
  if (special !== undefined && special !== A_DEVICE) throw unusable(special);
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    const why = error instanceof SyntaxError ? `it is not JSON: ${error.message}` : describeFsError(error);
    throw unusable(why, error);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new UsageError(`${file} has no settings`, {
    why: 'it is JSON, but not an object',
    hint: 'for example {"avad": true}',
  });
}

function writeCertificate(file: string, certificate: string): void {
  try {
    writeFileSync(file, certificate);
  } catch (error) {
    throw new UsageError(`the certificate cannot be written to ${file}`, {
      why: describeFsError(error),
      hint: 'give --certificate-out a file in an existing folder',
      cause: error,
    });
  }
}

/**
 * Returns a UsageError for a host name that cannot be resolved. The server itself reports every other reason why it
 * cannot listen.
 */
function asHostError(error: unknown, host: string): unknown {
  if (!(error instanceof Error && 'syscall' in error && error.syscall === 'getaddrinfo')) return error;
  return new UsageError(`unknown host: ${host}`, {
    why: 'the name has no address',
    hint: 'use --host 127.0.0.1, or 0.0.0.0 to listen on every address of this machine',
    cause: error,
  });
}

/** Returns the CanceledError of `signal` with a text about the emulator. */
function stopped(signal: AbortSignal, data: string): CanceledError {
  const reason: unknown = signal.reason;
  const name = reason instanceof CanceledError ? reason.signal : 'SIGINT';
  const message = `the emulator was stopped (${name})`;
  return data === IN_MEMORY
    ? new CanceledError(name, {
        message,
        why: 'its data was in memory and is lost',
        hint: 'use --data FILE to keep data',
      })
    : new CanceledError(name, {
        message,
        why: `its data is kept in ${data}`,
        hint: `start it again with --data ${data}`,
      });
}
