/** JSON for people and scripts. Invariant: writing it never throws, whatever the value is. */

/** One line of JSON. Big integers become text, errors their name and message, a cycle the word [circular]. */
export function safeStringify(value: unknown): string {
  try {
    return JSON.stringify(plain(value, [])) ?? 'null';
  } catch {
    // A getter threw, or the nesting exceeds the stack. A report must not fail because of that.
    return '"[unwritable]"';
  }
}

/** The value as plain data, as `safeStringify` describes it. */
function plain(value: unknown, above: readonly object[]): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (above.includes(value)) return '[circular]';
  const path = [...above, value];
  if (Array.isArray(value)) return value.map((item) => plain(item, path));
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  const entries = Object.entries(value).map(([name, member]) => [name, plain(member, path)]);
  if (!(value instanceof Error)) return Object.fromEntries(entries);
  // The message and the cause of an Error are not enumerable.
  const { name, message, cause } = value;
  const described = cause === undefined ? { name, message } : { name, message, cause: plain(cause, path) };
  return { ...described, ...Object.fromEntries(entries) };
}

/** A member of a value that was parsed from JSON; undefined where there is none. */
export function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
