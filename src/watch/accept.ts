/** Which text format of metrics a client gets, by the header `Accept` of its request. */

/** `openmetrics`: OpenMetrics 1.0. `prometheus`: the text format 0.0.4 of Prometheus, which every scraper reads. */
export type MetricsFormat = 'openmetrics' | 'prometheus';

export const METRICS_TYPES: Readonly<Record<MetricsFormat, string>> = {
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
};

/**
 * Returns OpenMetrics for a client that names this format and does not prefer the other one. A browser, or a client that
 * takes anything, gets plain text.
 */
export function metricsFormatFor(accept = ''): MetricsFormat {
  const ranges = accept.toLowerCase().split(',').map(rangeOf);
  const qualityOf = (type: string, version: string): number =>
    Math.max(
      0,
      ...ranges
        .filter((range) => range.type === type && (range.version ?? version) === version)
        .map(({ quality }) => quality),
    );
  const open = qualityOf('application/openmetrics-text', '1.0.0');
  return open > 0 && open >= qualityOf('text/plain', '0.0.4') ? 'openmetrics' : 'prometheus';
}

interface MediaRange {
  readonly type: string;
  readonly version: string | undefined;
  /** From 0, never, to 1. */
  readonly quality: number;
}

function rangeOf(text: string): MediaRange {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim());
  const named = new Map(
    parameters.map((parameter): [string, string] => {
      const [name = '', value = ''] = parameter.split('=', 2).map((part) => part.trim());
      return [name, value.replaceAll('"', '')];
    }),
  );
  const quality = Number(named.get('q') ?? 1);
  return { type, version: named.get('version'), quality: Number.isFinite(quality) ? quality : 0 };
}
