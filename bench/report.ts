/** A figure that a benchmark reports. */
export interface Result {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** The ratio of `value` to another measurement of the same run. It depends less on the machine than a rate does. */
  readonly ratio?: { readonly value: number; readonly to: string };
  /** The goal for the value or the ratio. */
  readonly target?: string;
  readonly note?: string;
}

const HEAD = ['benchmark', 'rate', 'unit', 'ratio', 'target', 'note'] as const;

export function formatTable(results: readonly Result[]): string {
  const rows = [HEAD, ...results.map(cellsOf)];
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) =>
        column === 1 ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  );
  return `${lines.join('\n')}\n`;
}

function cellsOf({ name, value, unit, ratio, target, note }: Result): readonly string[] {
  const rate = value.toLocaleString('en-US', { maximumFractionDigits: value < 100 ? 2 : 0 });
  const against = ratio === undefined ? '' : `${ratio.value.toFixed(2)} x ${ratio.to}`;
  return [name, rate, unit, against, target ?? '', note ?? ''];
}
