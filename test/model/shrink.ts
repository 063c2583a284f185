/**
 * Owns shortest traces: actions are left out, in halves at first and one by one at last, for as long as
 * the run still fails; then the trace is short enough to read.
 */
import { replay, type Finding } from './scheduler.ts';

export function shrink(finding: Finding): Finding {
  const fails = (trace: readonly string[]): string | null => replay(finding, trace);
  return { ...finding, ...shorten(finding, fails) };
}

export interface Failure {
  readonly trace: readonly string[];
  readonly failure: string;
}

/** `fails` replays a trace and returns what is wrong, or null. */
export function shorten(failure: Failure, fails: (trace: readonly string[]) => string | null): Failure {
  return leaveOut(rest(leaveOut(failure, fails), fails), fails);
}

function leaveOut(long: Failure, fails: (trace: readonly string[]) => string | null): Failure {
  let { trace, failure } = long;
  for (let size = Math.ceil(trace.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let again = true; again;) {
      again = false;
      for (let at = trace.length - size; at > -size; at -= size) {
        const shorter = trace.toSpliced(Math.max(at, 0), size);
        const still = fails(shorter);
        if (still === null) continue;
        [trace, failure] = [shorter, still];
        again = true;
      }
    }
  }
  return { trace, failure };
}

/** Most stories need only what the application did before some moment, and a mover that came to rest. */
function rest(finding: Failure, fails: (trace: readonly string[]) => string | null): Failure {
  for (let at = finding.trace.length; at > 0; at -= 1) {
    const app = finding.trace.slice(0, at).filter((action) => action.startsWith('app'));
    if (app.length + 1 >= at) continue;
    for (const trace of [app.toSpliced(-1, 0, 'quiet'), [...app, 'quiet']]) {
      const shorter = [...trace, ...finding.trace.slice(at)];
      const failure = fails(shorter);
      if (failure !== null) return { trace: shorter, failure };
    }
  }
  return finding;
}

/** Steps of one task that follow each other are one line. */
export function linesOf(trace: readonly string[]): string[] {
  const lines: { task: string | null; text: string }[] = [];
  for (const action of trace) {
    const [verb, name = '', lag] = action.split(' ');
    const last = lines.at(-1);
    if (verb !== 'task') lines.push({ task: null, text: action });
    else if (last?.task === name) last.text += ` ${lag}`;
    else lines.push({ task: name, text: action });
  }
  return lines.map(({ text }) => text);
}

export function describeFinding({ scenario, mutation, trace, failure }: Finding): string {
  const on = Object.entries(scenario).map(([name, value]) => `${name}=${String(value)}`);
  const lines = linesOf(trace);
  return [
    `${failure}${mutation === null ? '' : ` (without the rule: ${mutation})`}`,
    `  where ${on.join(' ')}`,
    ...lines.map((line, n) => `  ${n + 1}. ${line}`),
    `  ${lines.length + 1}. the application stops, the mover rests, is killed, rests again (and sweeps)`,
  ].join('\n');
}
