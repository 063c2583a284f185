/** Before the first test: what tests start as processes is compiled. */
import { buildForProcesses } from './built.ts';

export function setup(): void {
  buildForProcesses();
}
