/** All probes, in the order in which they are asked. */
import { ALL_VERSIONS } from './all-versions.ts';
import { CHARGES } from './charges.ts';
import { FEEDS } from './feeds.ts';
import { LIFETIME } from './lifetime.ts';
import type { Probe } from './probe.ts';
import { UNASKED } from './unasked.ts';
import { VALUES } from './values.ts';
import { WRITES } from './writes.ts';

export const PROBES: readonly Probe[] = [
  ...FEEDS,
  ...ALL_VERSIONS,
  ...CHARGES,
  ...VALUES,
  ...WRITES,
  ...LIFETIME,
  ...UNASKED,
];
