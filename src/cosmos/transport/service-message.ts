/** The message in an error reply of the service: its first line, as far as it is worth printing. */
import { memberOf } from '../../lib/json/json.ts';

/**
 * The most characters of a service message to print. Long enough for a refusal of settings, whose message names the
 * settings.
 */
const MESSAGE_MAX = 300;

/** Returns the first line of the service's message; empty if the body is not one of the service. */
export function messageIn(body: Buffer): string {
  try {
    const message = memberOf(JSON.parse(body.toString()), 'message');
    return typeof message === 'string' ? (message.split(/[\r\n]/)[0] ?? '').slice(0, MESSAGE_MAX) : '';
  } catch {
    return '';
  }
}
