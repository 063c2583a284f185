/** A real Prometheus, as Debian's package `prometheus` installs it, and its promtool. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { accessSync, constants, mkdirSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { delimiter, join } from 'node:path';
import { temporaryFolder } from '../../unit/state/making.ts';
import { freePort } from '../process/free-port.ts';
import { until } from '../wait.ts';

function find(name: string): string | undefined {
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

const [PROMETHEUS, PROMTOOL] = [find('prometheus'), find('promtool')];
/** Whether both programs are installed. */
export const HAS_PROMETHEUS = PROMETHEUS !== undefined && PROMTOOL !== undefined;

/** Runs promtool; returns its exit code and all that it has printed. */
export function promtool(
  argv: readonly string[],
  input = '',
): { readonly code: number; readonly output: string } {
  const { status, stdout, stderr } = spawnSync(PROMTOOL ?? '', argv, { input, encoding: 'utf8' });
  return { code: status ?? -1, output: `${stdout}${stderr}` };
}

export interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly values: ReadonlyArray<readonly [time: number, value: string]>;
}

interface Reply {
  readonly status: string;
  readonly error?: string;
  readonly data: { readonly result: readonly Series[] };
}

/** A server that scrapes more than once a second and keeps what it finds in a folder of its own. */
export class Prometheus implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #url: string;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.#url = url;
  }

  /** `targets`: the address of each job by its name. */
  static async start({
    targets,
    rules,
  }: {
    readonly targets: Readonly<Record<string, string>>;
    readonly rules: string;
  }): Promise<Prometheus> {
    const folder = join(temporaryFolder(), 'prometheus');
    mkdirSync(folder);
    const jobs = Object.entries(targets).map(([name, target]) => ({
      job_name: name,
      static_configs: [{ targets: [target] }],
    }));
    const global = { scrape_interval: '750ms', scrape_timeout: '750ms', evaluation_interval: '500ms' };
    // YAML includes JSON.
    const config = JSON.stringify({ global, rule_files: [rules], scrape_configs: jobs });
    writeFileSync(join(folder, 'prometheus.yml'), config);
    const address = `127.0.0.1:${await freePort()}`;
    const child = spawn(
      PROMETHEUS ?? '',
      [
        `--config.file=${join(folder, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=${address}`,
        '--log.level=error',
      ],
      { stdio: 'ignore' },
    );
    const server = new Prometheus(child, `http://${address}`);
    await until(
      async () => {
        const reply = await fetch(`http://${address}/-/ready`).catch(() => undefined);
        await reply?.arrayBuffer();
        return reply?.ok === true;
      },
      { what: 'Prometheus to be ready' },
    );
    return server;
  }

  /**
   * Evaluates an expression twice a second since `sinceMs`; returns the series that have a number. Throws what Prometheus
   * complains about.
   */
  async range(expr: string, sinceMs: number): Promise<readonly Series[]> {
    const [start, end] = [sinceMs / 1000, Date.now() / 1000].map(String);
    const parameters = { query: expr, start: start ?? '', end: end ?? '', step: '0.5' };
    const { data } = await this.#ask('query_range', parameters);
    return data.result.filter(({ values }) => values.some(([, value]) => value !== 'NaN'));
  }

  /** The newest value of an expression; undefined: it has none. */
  async now(expr: string): Promise<number | undefined> {
    const { data } = await this.#ask('query', { query: expr });
    const [first] = data.result as unknown as Array<{ readonly value: readonly [number, string] }>;
    return first === undefined ? undefined : Number(first.value[1]);
  }

  /** The values of a label in the series of a metric. */
  async valuesOf(label: string, metric: string): Promise<readonly string[]> {
    const query = new URLSearchParams({ 'match[]': metric }).toString();
    const reply = await fetch(`${this.#url}/api/v1/label/${label}/values?${query}`);
    return ((await reply.json()) as { readonly data: readonly string[] }).data;
  }

  /** The type of a metric, as the target of a job declares it. */
  async typeOf(metric: string, job: string): Promise<string | undefined> {
    const query = new URLSearchParams({ metric, match_target: `{job="${job}"}` }).toString();
    const reply = await fetch(`${this.#url}/api/v1/targets/metadata?${query}`);
    const { data = [] } = (await reply.json()) as { data?: Array<{ type: string }> };
    return data[0]?.type;
  }

  /** Each rule that it has loaded, with what it complains about. */
  async rules(): Promise<ReadonlyArray<{ readonly name: string; readonly trouble: string }>> {
    const { data } = (await (await fetch(`${this.#url}/api/v1/rules`)).json()) as {
      data: { groups: Array<{ rules: Array<{ name: string; health: string; lastError?: string }> }> };
    };
    return data.groups
      .flatMap(({ rules }) => rules)
      .map(({ name, health, lastError = '' }) => ({
        name,
        trouble: health === 'ok' ? '' : health + lastError,
      }));
  }

  async #ask(path: string, parameters: Readonly<Record<string, string>>): Promise<Reply> {
    const query = new URLSearchParams(parameters).toString();
    const reply = (await (await fetch(`${this.#url}/api/v1/${path}?${query}`)).json()) as Reply;
    if (reply.status !== 'success') throw new Error(`${parameters['query']}: ${reply.error}`);
    return reply;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null) return;
    // Nothing that it has stored is needed again.
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }
}
