/** Loads a spec the way a command does, from flags, variables and a file that are given here. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UsageError, type Problem } from '../../../src/lib/errors.ts';
import type { Checked } from '../../../src/spec/check.ts';
import { loadSpec, type SpecInput } from '../../../src/spec/load.ts';
import { VirtualClock } from '../../helpers/clock.ts';

export type Flags = Readonly<Record<string, string | readonly string[]>>;

/** The settings that were given, and where. */
export interface Giving {
  readonly flags?: Flags;
  readonly env?: Readonly<Record<string, string>>;
  /** The text of a cosmig.config.yaml in the working directory. */
  readonly file?: string;
  readonly nowMs?: number;
}

export const KEY = Buffer.alloc(64, 7).toString('base64');
export const OTHER_KEY = Buffer.alloc(64, 9).toString('base64');
export const ENDPOINT = 'https://acme.documents.azure.com/';

/** Flags that make a whole spec. */
export const WHOLE: Flags = {
  source: 'shop/orders',
  target: 'shop/by-tenant',
  sourceEndpoint: 'https://acme.documents.azure.com',
  partitionKey: '/tenantId',
};

/** A folder that is gone when the work is done. */
export function inFolder<T>(file: string | undefined, work: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'cosmig-spec-'));
  try {
    if (file !== undefined) writeFileSync(join(folder, 'cosmig.config.yaml'), file);
    return work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export function load({ flags = {}, env = {}, file, nowMs }: Giving): Checked {
  // Like copy, the only command that creates a target.
  const options = Object.fromEntries(
    Object.entries({ createTarget: [], ...flags }).map(([name, value]) => [name, [value].flat()]),
  ) as SpecInput['options'];
  return inFolder(file, (folder) => loadSpec({ options, env, clock: new VirtualClock(nowMs), folder }));
}

/** The error that loading ends with; fails when it does not. */
export function refusal(giving: Giving): UsageError {
  try {
    load(giving);
  } catch (error) {
    if (error instanceof UsageError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

export function problems(giving: Giving): readonly Problem[] {
  return refusal(giving).problems;
}

/** `from: message` of everything that is wrong. */
export function complaints(giving: Giving): readonly string[] {
  return problems(giving).map(({ from, message }) => `${from}: ${message}`);
}
