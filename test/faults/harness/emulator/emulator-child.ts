// Run as its own process, so that a test can kill it: an emulator over a file, until the end.
import { CosmigError } from '../../../../src/lib/errors.ts';
import { PUBLISHED_KEY, startEmulator } from '../../../../src/emulator/http/server.ts';

const [data = '', settings = '{}'] = process.argv.slice(2);
try {
  const { endpoint } = await startEmulator({
    host: '127.0.0.1',
    port: 0,
    https: false,
    data,
    key: PUBLISHED_KEY,
    settings: JSON.parse(settings) as Record<string, unknown>,
  });
  process.stdout.write(`${JSON.stringify({ ready: true, endpoint })}\n`);
} catch (error) {
  const code = error instanceof CosmigError ? error.code : 'unknown';
  const message = error instanceof Error ? error.message : String(error);
  process.stdout.write(`${JSON.stringify({ ready: false, code, message })}\n`);
  process.exitCode = error instanceof CosmigError ? error.exitCode : 1;
}
