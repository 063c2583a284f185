/** Writes values as JSON for people and scripts. Invariant: writing never throws, whatever the value is. */
import { printable } from './printable.ts';

/**
 * Returns a value as one line of JSON that is safe to show on a terminal. A big integer becomes a text. An error
 * becomes an object with its name and message. A reference back to an enclosing object becomes the word [circular].
 */
export function safeStringify(value: unknown): string {
  try {
    return printable(JSON.stringify(plain(value)) ?? 'null');
  } catch {
    // A getter of the value threw, or the value is nested too deeply for the stack. A report must not fail because of
    // such a value.
    return '"[unwritable]"';
  }
}

/** Returns what to write for a value with this name: another value, or the same. Called for every value at any depth. */
type Change = (value: unknown, name: string) => unknown;

/**
 * Returns the value as plain data, in the form that `safeStringify` describes, after `change` was applied at every
 * depth.
 */
export function plain(value: unknown, change: Change = (same) => same, name = ''): unknown {
  return plainAt(change(value, name), change, []);
}

function plainAt(value: unknown, change: Change, above: readonly object[]): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (above.includes(value)) return '[circular]';
  const visit = (member: unknown, name: string): unknown =>
    plainAt(change(member, name), change, [...above, value]);
  if (Array.isArray(value) || value instanceof Set) return [...value].map((item) => visit(item, ''));
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof Uint8Array) return `[${value.byteLength} bytes]`;
  if (value instanceof URL) return visit(value.href, '');
  const members: Array<readonly [string, unknown]> =
    value instanceof Map ? [...value].map(([name, member]) => [String(name), member]) : Object.entries(value);
  if (value instanceof Error) {
    // The name, message, cause and nested errors of an Error are not enumerable, so they are added here.
    members.unshift(['name', value.name], ['message', value.message]);
    if (value.cause !== undefined) members.push(['cause', value.cause]);
    if (value instanceof AggregateError) members.push(['errors', value.errors]);
  }
  return Object.fromEntries(members.map(([name, member]) => [name, visit(member, name)]));
}

/** Returns a property of a value that was parsed from JSON; undefined if the value has no such property. */
export function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
