/**
 * Owns shortest traces: actions are left out, in halves at first and one by one at last, for as long as
 * the run still fails; then what is told is read by people.
 */
import { replay, type Finding } from './scheduler.ts';

export function shrink(finding: Finding): Finding {
  let { trace, failure } = finding;
  for (let size = Math.ceil(trace.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let again = true; again;) {
      again = false;
      for (let at = trace.length - size; at > -size; at -= size) {
        const shorter = trace.toSpliced(Math.max(at, 0), size);
        const still = replay(finding, shorter);
        if (still === null) continue;
        [trace, failure] = [shorter, still];
        again = true;
      }
    }
  }
  return { ...finding, trace, failure };
}

export function tell({ scenario, mutation, trace, failure }: Finding): string {
  const on = Object.entries(scenario).map(([name, value]) => `${name}=${String(value)}`);
  return [
    `${failure}${mutation === null ? '' : ` (without the rule: ${mutation})`}`,
    `  where ${on.join(' ')}`,
    ...trace.map((action, n) => `  ${n + 1}. ${action}`),
    `  ${trace.length + 1}. the application stops, the mover goes on until it rests`,
  ].join('\n');
}
