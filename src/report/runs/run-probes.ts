/** Runs `cosmig doctor --probe` and shows each answer as it comes. */
import type { Result } from '../../cli/command.ts';
import type { ProbeResult } from '../../doctor/probes/probe.ts';
import type { Probed } from '../../doctor/probes/run-probes.ts';
import { UsageError, type CosmigError } from '../../lib/errors.ts';
import { isLoopback } from '../../spec/connection.ts';
import { parseContainerName, type ContainerName } from '../../spec/input/values.ts';
import { errorJson } from '../format.ts';
import type { PROBES_RESULT } from '../json/tool-results.ts';
import type { TypeOf } from '../json/schema.ts';
import {
  costText,
  errorForProbes,
  probesReport,
  probesSummary,
  probeText,
  reportText,
  writeProbesReport,
} from '../probes.ts';
import { systemRandom } from '../../lib/random.ts';
import { loadConnections } from '../../spec/load.ts';
import { errorOfRun, refuseReport } from './report-file.ts';
import { resultOrThrow } from './result-or-throw.ts';
import type { SpecContext } from './run-engine.ts';

export interface ProbeAsked {
  /** The scratch container, as DB/CONTAINER. */
  readonly probe: string;
  /** Whether the operator has accepted the cost. */
  readonly isAccepted: boolean;
  readonly report: string | undefined;
}

/** How the name of a scratch container begins, so that a person who finds one knows what it is. */
const PREFIX = 'cosmig-probe';

export async function runProbesFor(
  context: SpecContext,
  { probe, isAccepted, report }: ProbeAsked,
): Promise<Result> {
  const { out, signal, abortSignal } = context;
  const name = nameFrom(probe);
  const { clock, log } = context;
  const connection = loadConnections(context).source;
  if (report !== undefined) refuseReport(report);
  // Loaded on demand, since --help needs neither the SDK nor the database.
  const { runProbes, scratchNames, SCRATCH_RU } = await import('../../doctor/probes/run-probes.ts');
  const { endpoint } = connection;
  const names = scratchNames(name).map(({ database, container }) => `${database}/${container}`);
  const cost = costText(names.length, SCRATCH_RU);
  if (!isAccepted && !isLoopback(new URL(endpoint).hostname)) {
    throw new UsageError('--probe needs --yes', {
      why: `it creates ${names.join(', ')} in ${endpoint}, and removes them at the end; this costs ${cost}`,
      hint: 'add --yes to accept that',
    });
  }
  out.note(`cost: ${cost}`);
  out.note(`creating ${names.join(', ')} in ${endpoint}; they are removed at the end`);
  const onResult = (result: ProbeResult): void => {
    // Not awaited: the few lines fit into the buffer of stdout.
    void out.line(probeText(result));
  };
  const onLeftover = ({ database, container }: ContainerName): void =>
    out.note(`removed ${database}/${container}, which an interrupted run had left`);
  let unwritten: CosmigError | undefined;
  const onProbed = (probed: Probed): void => {
    if (report !== undefined) unwritten = writeProbesReport(report, probesReport(probed, clock.now()));
  };
  const { results } = await runProbes({
    connection,
    clock,
    random: systemRandom,
    log,
    signal,
    abortSignal,
    name,
    onLeftover,
    onResult,
    onProbed,
  });
  const error = errorOfRun(errorForProbes(results), unwritten, (text) => out.note(text));
  const where = report === undefined || unwritten !== undefined ? [] : [reportText(report)];
  const json: TypeOf<typeof PROBES_RESULT> = {
    command: 'doctor',
    complete: error === undefined,
    probes: results,
    ...errorJson(error),
  };
  const result = { json, text: [probesSummary(results), ...where].join('\n') };
  return resultOrThrow(result, error, out);
}

function nameFrom(text: string): ContainerName {
  const name = parseContainerName(text);
  if ('container' in name && name.container.startsWith(PREFIX)) return name;
  throw new UsageError(`--probe ${text} does not name a scratch container`, {
    why: `it must have the form DB/CONTAINER, and CONTAINER must begin with ${PREFIX}, so that everyone sees what it is`,
    hint: `for example --probe shop/${PREFIX}`,
  });
}
