/**
 * What cosmig does on an account that differs from what it relies on: one row for each deviation of the emulator. The
 * table in docs/internals/probes.md has the same rows.
 */
import { setTimeout } from 'node:timers/promises';
import { PartitionKeyDefinitionVersion, PartitionKeyKind } from '@azure/cosmos';
import type { Deviation } from '../../../src/emulator/account/deviations.ts';
import type { Move, MoveOptions, Order } from './move.ts';

export interface DeviationRow {
  /** The question of `cosmig doctor --probe` that notices it. */
  readonly probe: string;
  /**
   * - adapts: the copy is right
   * - stops: a run or a comparison ends with an error that names the trouble
   * - compares: a run ends well, and the comparison, without which no cutover commits, shows the difference
   * - cannot notice: only the probe warns
   */
  readonly does: 'adapts' | 'stops' | 'compares' | 'cannot notice';
  readonly how: string;
  readonly source?: MoveOptions['source'];
  readonly target?: MoveOptions['target'];
  /** The ttl of the usual documents. */
  readonly usualTtl?: number;
  /** Documents that the source has besides the usual ones before the account differs. */
  readonly before?: readonly Order[];
  /** One more of them as text, for numbers that JavaScript does not have. */
  readonly beforeText?: string;
  /** Changes to the source between copy and tail, besides the usual ones. */
  readonly change?: (move: Move) => Promise<unknown>;
  /** The exit codes of copy, tail and verify. */
  readonly codes: readonly [copy: number, tail: number, verify: number];
  /** What verify says. */
  readonly says?: RegExp;
}

const ADAPTS = { does: 'adapts', codes: [0, 0, 0] } as const;
const COMPARES = { does: 'compares', codes: [0, 0, 4] } as const;

const rename = async ({ source }: Move): Promise<unknown> =>
  source.item('old-name', 'c').replace({ id: 'new-name', customerId: 'c', tenantId: 't1' });

export const DEVIATION_ROWS: Readonly<Record<Deviation, DeviationRow>> = {
  'feed-newest-first': {
    ...ADAPTS,
    probe: 'feed-order',
    how: 'the LSN of a change decides, not its place on the page',
  },
  'feed-ends-with-200': {
    probe: 'feed-end',
    does: 'stops',
    how: 'the copy stops at its time limit, and nothing counts as copied',
    codes: [8, 3, 3],
    says: /the copy is not finished|nothing has been copied/,
  },
  'feed-without-lsn': {
    probe: 'feed-lsn',
    does: 'stops',
    how: 'the preflight refuses the source',
    codes: [3, 7, 7],
  },
  'feeds-share-positions': {
    ...ADAPTS,
    probe: 'feed-positions',
    how: 'each position is stored with its feed',
  },
  'other-lsns': { ...ADAPTS, probe: 'all-versions-lsn', how: 'LSNs of the two feeds are never compared' },
  'no-replaces': {
    ...COMPARES,
    probe: 'all-versions',
    how: 'the change that the feed lacks is listed as different',
    says: /"changed"/,
  },
  'renames-as-creates': {
    ...COMPARES,
    probe: 'rename-shown',
    how: 'the copy under the old id is listed as extra',
    before: [{ id: 'old-name', customerId: 'c', tenantId: 't1' }],
    change: rename,
    says: /extra +"old-name"/,
  },
  'deletes-without-key': {
    ...COMPARES,
    probe: 'delete-key',
    how: 'the delete that could not be applied is listed as extra',
    says: /extra +"deleted"/,
  },
  'deletes-with-one-level': {
    ...COMPARES,
    probe: 'delete-levels',
    how: 'the delete that could not be applied is listed as extra',
    source: {
      partitionKey: {
        paths: ['/customerId', '/tenantId'],
        kind: PartitionKeyKind.MultiHash,
        version: PartitionKeyDefinitionVersion.V2,
      },
    },
    says: /extra +"deleted"/,
  },
  'missing-keys-as-null': {
    ...COMPARES,
    probe: 'delete-missing-key',
    how: 'the delete that was taken for that of another document is listed as extra',
    before: [{ id: 'keyless', tenantId: 't1' }],
    change: async ({ source }) => source.item('keyless', undefined).delete(),
    says: /extra +"keyless"/,
  },
  'future-tokens-served': {
    ...ADAPTS,
    probe: 'session-future',
    how: 'the newest end of a range is asked for a bounded number of times',
  },
  'dear-empty-pages': {
    ...ADAPTS,
    probe: 'charge-empty-page',
    how: 'looks cost more RU, which the budget counts',
  },
  'dear-conflicts': {
    ...ADAPTS,
    probe: 'charge-conflict',
    how: 'what is repeated costs more RU, which the budget counts',
  },
  'dear-counts': { ...ADAPTS, probe: 'charge-count', how: 'counts cost more RU, which the budget counts' },
  'dear-creates': {
    ...ADAPTS,
    probe: 'charge-create',
    how: 'a copy costs more RU than estimated, which the budget counts',
  },
  'rounded-integers': {
    ...COMPARES,
    probe: 'big-integers',
    how: 'the number that was rounded is listed as different',
    beforeText: '{"id":"integer","customerId":"c","tenantId":"t","total":9007199254740993}',
    says: /"integer"/,
  },
  'rounded-fractions': {
    ...COMPARES,
    probe: 'fractions',
    how: 'the number that was changed is listed as different',
    before: [{ id: 'fraction', customerId: 'c', tenantId: 't', total: 0.123456789 }],
    says: /"fraction"/,
  },
  'object-keys-refused': {
    probe: 'key-objects',
    does: 'stops',
    how: 'copy names the document that the target refuses, as a dead letter',
    before: [{ id: 'object', customerId: 'c', tenantId: { is: 'an object' } }],
    codes: [5, 5, 0],
  },
  'integer-keys-as-text': {
    probe: 'key-types',
    does: 'stops',
    how: 'copy names the second document of a slot, as a dead letter',
    before: [
      { id: 'number', customerId: 'c', tenantId: 7 },
      { id: 'number', customerId: 'd', tenantId: '7' },
    ],
    codes: [5, 5, 0],
  },
  'renames-with-new-rid': {
    ...COMPARES,
    probe: 'rename-rid',
    how: 'the copy under the old id is listed as extra',
    before: [{ id: 'old-name', customerId: 'c', tenantId: 't1' }],
    change: rename,
    says: /extra +"old-name"/,
  },
  'missing-is-unique': {
    ...ADAPTS,
    probe: 'unique-missing',
    how: 'the service decides what is unique; cosmig writes both',
    target: { uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/email'] }] } },
    before: [
      { id: 'none-1', customerId: 'c', tenantId: 'u1' },
      { id: 'none-2', customerId: 'd', tenantId: 'u1' },
    ],
  },
  'batches-of-50': { ...ADAPTS, probe: 'batch-size', how: 'a batch that is refused is sent in parts' },
  'signatures-expire': { ...ADAPTS, probe: 'signatures', how: 'a batch that is refused is signed again' },
  'conditions-ignored': {
    does: 'cannot notice',
    codes: [0, 0, 0],
    probe: 'conditions',
    how: 'without a race the copy is right; a lost race is found by the comparison',
  },
  'ttl-ignored': {
    ...ADAPTS,
    probe: 'ttl-on',
    how: 'the feed reports that the original has expired, and the copy is deleted',
    source: { defaultTtl: -1 },
    target: { defaultTtl: -1 },
    before: [{ id: 'short', customerId: 'c', tenantId: 't', ttl: 3 }],
    change: () => setTimeout(8000),
  },
  'ttl-without-switch': {
    ...COMPARES,
    probe: 'ttl-off',
    how: 'the copy that expired is listed as missing',
    before: [{ id: 'short', customerId: 'c', tenantId: 't', ttl: 3 }],
    change: () => setTimeout(4500),
    says: /missing +"short"/,
  },
  'no-endless-ttl': {
    ...COMPARES,
    probe: 'ttl-default',
    how: 'the copy that expired is listed as missing',
    source: { defaultTtl: 600 },
    target: { defaultTtl: 3 },
    usualTtl: 600,
    before: [{ id: 'endless', customerId: 'c', tenantId: 't', ttl: -1 }],
    change: () => setTimeout(4500),
    says: /missing +"endless"/,
  },
};
