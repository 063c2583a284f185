/** Writes values as JSON for people and scripts. Invariant: writing never throws, whatever the value is. */
import { printable } from './printable.ts';

/**
 * Returns a value as one line of JSON that is safe to show on a terminal. A big integer becomes text, an error an object with its name and message, and a
 * reference back to an enclosing object the word [circular].
 */
export function safeStringify(value: unknown): string {
  try {
    return printable(JSON.stringify(plain(value, [])) ?? 'null');
  } catch {
    // A getter of the value threw, or the value is nested too deeply for the stack. A report must not fail because of
    // that.
    return '"[unwritable]"';
  }
}

/** Returns the value as plain data, in the form that `safeStringify` describes. */
function plain(value: unknown, above: readonly object[]): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (above.includes(value)) return '[circular]';
  const path = [...above, value];
  if (Array.isArray(value)) return value.map((item) => plain(item, path));
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  const entries = Object.entries(value).map(([name, member]) => [name, plain(member, path)]);
  if (!(value instanceof Error)) return Object.fromEntries(entries);
  // The message and the cause of an Error are not enumerable, so they are added here.
  const { name, message, cause } = value;
  const described = cause === undefined ? { name, message } : { name, message, cause: plain(cause, path) };
  return { ...described, ...Object.fromEntries(entries) };
}

/** Returns a property of a value that was parsed from JSON; undefined if the value has no such property. */
export function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
