/**
 * Metrics as text, in both formats that Prometheus reads. A metric without a known value is left out: no sample is not
 * the same as zero.
 */
import type { MetricsFormat } from '../../watch/accept.ts';

export type Labels = Readonly<Record<string, string>>;
export type Sample = readonly [labels: Labels, value: number | null, suffix?: HistogramSuffix];
type HistogramSuffix = '_bucket' | '_count' | '_sum';

export interface Metric {
  /** Without the prefix `cosmig_`, and without the suffixes `_total` of a counter and `_info`. */
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram' | 'info' | 'stateset';
  /** The last word of the name. */
  readonly unit?: 'seconds';
  readonly help: string;
  readonly samples: readonly Sample[];
}

export function exposition(metrics: readonly Metric[], format: MetricsFormat): string {
  const text = metrics.map((metric) => textOf(metric, format)).join('');
  // In the older format the last line would be a comment.
  return format === 'openmetrics' ? `${text}# EOF\n` : text;
}

function textOf({ name, type, unit, help, samples }: Metric, format: MetricsFormat): string {
  const known = samples.filter(([, value]) => value !== null && Number.isFinite(value));
  if (known.length === 0) return '';
  const family = `cosmig_${name}`;
  const full = `${family}${SUFFIXES[type]}`;
  const lines = known
    .map(([labels, value, suffix = '']) => `${full}${suffix}${labelText(labels)} ${value}\n`)
    .join('');
  if (format === 'prometheus') {
    const older = type === 'counter' || type === 'histogram' ? type : 'gauge';
    return `# HELP ${full} ${escaped(help)}\n# TYPE ${full} ${older}\n${lines}`;
  }
  const unitLine = unit === undefined ? '' : `# UNIT ${family} ${unit}\n`;
  return `# TYPE ${family} ${type}\n${unitLine}# HELP ${family} ${quotable(help)}\n${lines}`;
}

const SUFFIXES = { counter: '_total', gauge: '', histogram: '', info: '_info', stateset: '' } as const;

function labelText(labels: Labels): string {
  const entries = Object.entries(labels);
  if (entries.length === 0) return '';
  return `{${entries.map(([name, value]) => `${name}="${quotable(value)}"`).join(',')}}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

/** For label values, and in OpenMetrics for help too. */
function quotable(text: string): string {
  return escaped(text).replaceAll('"', '\\"');
}
