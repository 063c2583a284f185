/** A real Prometheus scrapes a migration: every alert rule and every expression of the dashboard finds its figures. */
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { CosmigRun } from '../../helpers/run-cosmig.ts';
import { HAS_PROMETHEUS, Prometheus, promtool } from '../../helpers/prometheus/prometheus.ts';
import { Move, type Order } from '../../helpers/migration/move.ts';
import { cosmig, envOf, start } from '../../helpers/migration/typed.ts';
import { putAll } from '../../helpers/migration/verify.ts';
import { until } from '../../helpers/wait.ts';

const FOLDER = fileURLToPath(new URL('../../../docs/operations/', import.meta.url));
const RULES = join(FOLDER, 'alerts.yaml');

interface Source {
  readonly type: string;
  readonly uid: string;
}
interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly datasource: Source;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly fieldConfig: { readonly defaults: { readonly unit?: string } };
  readonly targets: ReadonlyArray<{
    readonly refId: string;
    readonly datasource: Source;
    readonly expr: string;
    readonly legendFormat: string;
  }>;
}
interface Variable {
  readonly name: string;
  readonly type: string;
  readonly definition?: string;
  readonly query: unknown;
}
interface Dashboard {
  readonly templating: { readonly list: readonly Variable[] };
  readonly panels: readonly Panel[];
}
const dashboard = JSON.parse(readFileSync(join(FOLDER, 'grafana.json'), 'utf8')) as Dashboard;
const { panels } = dashboard;
const variables = dashboard.templating.list;

/** Fills in the variables of an expression as Grafana does: a variable with one value is not a pattern. */
function filledIn(expr: string, migration: string): string {
  return expr.replaceAll('$migration', migration).replaceAll('$__rate_interval', '5s');
}

const orders: Order[] = Array.from({ length: 400 }, (_none, n) => ({
  id: `o${n}`,
  customerId: `c${n % 9}`,
  tenantId: `t${n % 40}`,
}));

describe.skipIf(!HAS_PROMETHEUS)(
  'a migration under Prometheus (skipped where Debian’s package prometheus is missing)',
  () => {
    let move: Move;
    let watch: CosmigRun;
    let prometheus: Prometheus;
    let pageUrl: URL;
    const beganMs = Date.now();
    /** Stands in for the node exporter: it serves the file of --metrics-file as it is. */
    const exporter = createServer((_request, response) => {
      response.setHeader('content-type', 'text/plain; version=0.0.4');
      response.end(existsSync(file()) ? readFileSync(file()) : '');
    });
    const file = (): string => join(dirname(move.ledgerPath), 'orders.prom');

    beforeAll(async () => {
      move = await Move.open({
        settings: { avad: true },
        source: { throughput: 4000 },
        target: { throughput: 4000 },
      });
      await putAll(move, orders);
      watch = new CosmigRun(['watch', '--json'], { env: envOf(move), clock: systemClock });
      await until(() => watch.stdout.endsWith('\n'), { what: 'the address of the page' });
      pageUrl = new URL((JSON.parse(watch.stdout) as { readonly url: string }).url);
      exporter.listen(0, '127.0.0.1');
      await once(exporter, 'listening');
      const { port } = exporter.address() as AddressInfo;
      const targets = { cosmig: pageUrl.host, node: `127.0.0.1:${port}` };
      prometheus = await Prometheus.start({ targets, rules: RULES });
    });

    afterAll(async () => {
      await prometheus[Symbol.asyncDispose]();
      watch.press('SIGINT');
      await watch.ended;
      exporter.closeAllConnections();
      exporter.close();
      await move[Symbol.asyncDispose]();
    });

    /** Runs a command whose figures go to the file as well. */
    const run = async (...argv: readonly string[]): Promise<number> =>
      (await cosmig(move, ...argv, '--metrics-file', file())).code;
    const seen = async (expr: string): Promise<void> => {
      await until(async () => (await prometheus.now(expr)) !== undefined, { what: expr });
    };

    test('from the copy to the cutover -> every expression has a value', async () => {
      await seen('up{job="cosmig"} == 1');
      expect(await run('copy', '--target-ru', '2000', '--source-ru', '2000')).toBe(0);
      await seen('cosmig_command_exit_code{command="copy"} == 0');

      const tail = start(move, 'tail', '--source-ru', '2000', '--target-ru', '2000');
      await putAll(move, orders.slice(0, 50));
      await seen('cosmig_feed_lag_seconds < 60');
      await seen('rate(cosmig_documents_read_total{job="cosmig"}[5s]) > 0');
      await move.admin.faults([
        { match: { op: 'batch', coll: 'by-tenant' }, effect: { status: 429, retryAfterMs: 500 } },
      ]);
      await putAll(move, orders.slice(0, 50));
      await seen('time() - cosmig_oldest_in_flight_timestamp_seconds > 2');
      await move.admin.clearFaults();
      tail.kill('SIGKILL');
      await tail.ended;
      await seen('cosmig_last_run_outcome{cosmig_last_run_outcome="crashed"} == 1');
      expect(await run('tail', '--until-caught-up')).toBe(0);
      await move.admin.faults([{ match: { op: 'read-feed', coll: 'by-tenant' }, effect: { delayMs: 1500 } }]);
      const verifying = run('verify');
      await seen('cosmig_verify_candidates');
      await move.admin.clearFaults();
      expect(await verifying).toBe(0);
      await seen('cosmig_last_proof_timestamp_seconds');
      expect(await run('cutover', '--on-fence', 'sleep 2', '--quiet-for', '1s', '--watch-writes', '1s')).toBe(
        0,
      );
      await seen('cosmig_stage{cosmig_stage="done",job="cosmig"} == 1');

      // The variable finds the migration by its query, as in Grafana.
      const definition = variables.find(({ name }) => name === 'migration')?.definition ?? '';
      const [, metric = '', label = ''] = /^label_values\((\w+), (\w+)\)$/.exec(definition) ?? [];
      const migrations = await prometheus.valuesOf(label, metric);
      expect(migrations).toEqual(['shop/orders -> shop/by-tenant']);

      const without: string[] = [];
      for (const { title, targets } of panels)
        for (const { expr, legendFormat } of targets) {
          const series = await prometheus.range(filledIn(expr, migrations[0] ?? ''), beganMs);
          if (series.length === 0) without.push(`${title}: ${expr}`);
          // The text of a legend names labels that the series have.
          for (const [, name = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g))
            if (series.some((one) => one.metric[name] === undefined)) without.push(`${title}: {{${name}}}`);
        }
      expect(without).toEqual([]);

      // What an alert is about was there, whether or not it fired.
      const names = new Set(readFileSync(RULES, 'utf8').match(/\bcosmig_\w+(?=[\s{[])/g));
      expect(names.size).toBeGreaterThan(10);
      for (const name of names) if ((await prometheus.range(name, beganMs)).length === 0) without.push(name);
      expect(without).toEqual([]);
      const rules = await prometheus.rules();
      expect(rules.filter(({ trouble }) => trouble !== '')).toEqual([]);
      expect(rules.length).toBeGreaterThan(10);
    });

    test('watch answers in OpenMetrics, the file is in the older format -> both are read with their types', async () => {
      await seen('cosmig_stage{cosmig_stage="done",job="node"} == 1');
      expect(await prometheus.typeOf('cosmig_stage', 'cosmig')).toBe('stateset');
      expect(await prometheus.typeOf('cosmig_stage', 'node')).toBe('gauge');
    });

    test('promtool check metrics -> no complaint about names, help and types', async () => {
      const answer = await fetch(new URL('/metrics', pageUrl));
      expect(answer.headers.get('content-type')).toContain('version=0.0.4');
      for (const text of [await answer.text(), readFileSync(file(), 'utf8')])
        expect(promtool(['check', 'metrics'], text)).toEqual({ code: 0, output: '' });
    });
  },
);

/** The ids of Grafana's units that fit what cosmig reports. */
const UNITS = ['s', 'ops', 'short', 'percentunit', 'bytes', undefined];

test('dashboard: every query asks the chosen data source, with variables that exist and a unit of Grafana', () => {
  const chosen = { type: 'prometheus', uid: '${datasource}' };
  expect(variables.map(({ name, type }) => [name, type])).toEqual([
    ['datasource', 'datasource'],
    ['migration', 'query'],
  ]);
  const known = ['$migration', '$__rate_interval'];
  for (const { title, datasource, fieldConfig, targets } of panels) {
    expect([title, datasource, UNITS.includes(fieldConfig.defaults.unit)]).toEqual([title, chosen, true]);
    expect(targets.map((target) => target.datasource)).toEqual(targets.map(() => chosen));
    expect(new Set(targets.map(({ refId }) => refId)).size).toBe(targets.length);
    for (const { expr } of targets) {
      expect((expr.match(/\$\w+/g) ?? []).filter((name) => !known.includes(name))).toEqual([]);
      // A name may hold what means something else in a pattern.
      const selectors = expr.match(/cosmig_\w+\{[^}]*\}/g) ?? [];
      expect(selectors.filter((one) => !one.includes('migration="$migration"'))).toEqual([]);
      expect(selectors).toHaveLength(expr.match(/cosmig_\w+/g)?.length ?? -1);
    }
  }
});

test('dashboard: panels have an id of their own and do not overlap', () => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_none, n) => `${x + (n % w)},${y + Math.floor(n / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
});
