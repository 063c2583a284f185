/**
 * The charges of some requests. Estimates rely on them, and so does the choice of how often a tail looks for changes.
 */
import { queryRange } from '../../cosmos/container/query-range.ts';
import { Governor } from '../../cosmos/load/governor.ts';
import { systemRandom } from '../../lib/random.ts';
import type { Answer, Probe } from './probe.ts';
import { flatText } from './scratch.ts';

/** The most RU for which the claim holds: at least twice what is assumed, since charges differ by up to a third. */
const [EMPTY_MAX_RU, CONFLICT_MAX_RU, COUNT_MAX_RU, CREATE_MAX_RU] = [4, 4, 10, 16];

/** With this text a document has about 1 KB. */
const FILLER_LENGTH = 800;

export const CHARGES: readonly Probe[] = [
  {
    id: 'charge-empty-page',
    fact: 'SVC-34',
    claim: `a page of a feed without anything new costs at most ${EMPTY_MAX_RU} RU`,
    otherwise:
      'a tail that waits for changes costs the source more: give --source-ru, or run it at intervals',
    ask: async ({ flat }) => {
      const { position } = await flat.readPage('latest-version', 'now');
      const { chargeRu } = await flat.readPage('latest-version', position);
      return atMost(chargeRu, EMPTY_MAX_RU);
    },
  },
  {
    id: 'charge-create',
    fact: 'SVC-31',
    claim: `a create of 1 KB with 10 properties costs at most ${CREATE_MAX_RU} RU`,
    otherwise: 'a copy takes longer than cosmig copy --dry-run says, and costs the target more',
    ask: async ({ flat }) => {
      const members = Object.fromEntries(Array.from({ length: 10 }, (_none, n) => [`p${n}`, n]));
      const text = flatText('charge', 'charge', { ...members, filler: 'x'.repeat(FILLER_LENGTH) });
      const { chargeRu } = await flat.one({ verb: 'create', key: ['charge'], text });
      return atMost(chargeRu, CREATE_MAX_RU);
    },
  },
  {
    id: 'charge-conflict',
    fact: 'SVC-34',
    claim: `a create that is refused because the document exists costs at most ${CONFLICT_MAX_RU} RU`,
    otherwise: 'a copy that is repeated, or resumed after a crash, takes longer and costs the target more',
    ask: async ({ flat }) => {
      const create = { verb: 'create', key: ['conflict'], text: flatText('conflict', 'conflict') } as const;
      await flat.one(create);
      const { status, chargeRu } = await flat.one(create);
      if (status !== 409) return { holds: false, seen: `status ${status}` };
      return atMost(chargeRu, CONFLICT_MAX_RU);
    },
  },
  {
    id: 'charge-count',
    fact: 'SVC-34',
    claim: `a count of all documents of a range costs at most ${COUNT_MAX_RU} RU`,
    otherwise: 'verify --level count and each cutover cost more, in proportion to the number of ranges',
    ask: async ({ flat }) => {
      const parts = { range: await flat.range(), query: 'SELECT VALUE COUNT(1) FROM c' };
      const governor = new Governor({ clock: flat.clock, random: systemRandom });
      let chargeRu = 0;
      for await (const page of queryRange(flat.requests, parts, {
        ...flat.waiting,
        governor,
        sessionToken: undefined,
      }))
        chargeRu += page.chargeRu;
      return atMost(chargeRu, COUNT_MAX_RU);
    },
  },
];

function atMost(chargeRu: number, mostRu: number): Answer {
  return { holds: chargeRu <= mostRu, seen: `${chargeRu} RU` };
}
