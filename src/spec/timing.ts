/** How long things may take: the numbers that an operator's network and account decide. */

export interface Timing {
  /** How long a request may be on its way: its reply is not waited for longer, and what was sent may land that late. */
  readonly requestTimeoutMs: number;
  /** How long a reader rests that has seen the end of its feed. */
  readonly pollMs: number;
  /** How often a picture of the run is shown. */
  readonly showMs: number;
}

export const TIMING: Timing = { requestTimeoutMs: 45_000, pollMs: 1000, showMs: 1000 };
