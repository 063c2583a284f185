/** JSON for people and scripts. What always holds: writing it never throws, whatever it is given. */

/** One line of JSON; big integers become text, errors their name and message, a cycle the word [circular]. */
export function safeStringify(value: unknown): string {
  try {
    return JSON.stringify(plain(value, [])) ?? 'null';
  } catch {
    // A getter that throws, or nesting deeper than the stack. A report must not fail over that.
    return '"[unwritable]"';
  }
}

/** The value as plain data, with the marks described above. */
function plain(value: unknown, above: readonly object[]): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (above.includes(value)) return '[circular]';
  const path = [...above, value];
  if (Array.isArray(value)) return value.map((item) => plain(item, path));
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  const entries = Object.entries(value).map(([name, member]) => [name, plain(member, path)]);
  if (!(value instanceof Error)) return Object.fromEntries(entries);
  // An Error's own message and cause do not enumerate.
  const { name, message, cause } = value;
  const told = cause === undefined ? { name, message } : { name, message, cause: plain(cause, path) };
  return { ...told, ...Object.fromEntries(entries) };
}
