/** What cosmig relies on when it writes: conditions, unique keys, batches and their signatures. */
import { OPERATIONS_MAX } from '../../cosmos/bulk/batch-request.ts';
import { NO_ETAG } from '../../preflight/permissions.ts';
import type { Probe } from './probe.ts';
import { flatText, UNIQUE, type Operation } from './scratch.ts';

/**
 * The age of a signature when the probe sends it again. It is within the five seconds for which cosmig uses a
 * signature, and beyond the three seconds of the deviation `signatures-expire` of the emulator.
 */
const SIGNED_FOR_MS = 4200;

export const WRITES: readonly Probe[] = [
  {
    id: 'conditions',
    fact: 'SVC-43',
    claim: 'a replace that names another etag is refused with 412',
    otherwise: 'cosmig could overwrite a newer version: do not migrate; report this',
    ask: async ({ flat }) => {
      const [key, id] = [['conditions'], 'conditions'];
      await flat.one({ verb: 'create', key, text: flatText(id, id) });
      const text = flatText(id, id, { changed: true });
      const { status } = await flat.one({ verb: 'replace', key, id, text, ifMatch: NO_ETAG });
      return { holds: status === 412, seen: `status ${status}` };
    },
  },
  {
    id: 'unique-missing',
    fact: 'SVC-7',
    claim: 'of two documents with one key and without the unique value, the second is refused with 409',
    otherwise: 'nothing for a copy; documents can exist that cosmig expects to conflict',
    ask: async ({ flat }) => {
      const key = ['unique'];
      const lacking = (id: string): string => flatText(id, key[0], { [UNIQUE]: undefined });
      const first = await flat.one({ verb: 'create', key, text: lacking('unique-1') });
      const second = await flat.one({ verb: 'create', key, text: lacking('unique-2') });
      return {
        holds: first.status === 201 && second.status === 409,
        seen: `status ${first.status}, ${second.status}`,
      };
    },
  },
  {
    id: 'batch-size',
    fact: 'SDK-8',
    claim: `a bulk request may have ${OPERATIONS_MAX} operations`,
    otherwise: 'a copy ends at its first full batch with exit code 6: report this',
    ask: async ({ flat }) => {
      const key = ['batch-size'];
      const ids = Array.from({ length: OPERATIONS_MAX }, (_none, n) => `batch-${n}`);
      const sent = await flat.send(ids.map((id): Operation => ({ verb: 'read', key, id })));
      if ('kind' in sent) return { holds: false, seen: `status ${sent.status}` };
      const { outcomes } = sent;
      return { holds: outcomes.length === ids.length, seen: `${outcomes.length} outcomes` };
    },
  },
  {
    id: 'signatures',
    fact: 'SDK-3',
    claim: 'a signature that is some seconds old is accepted again, with another body',
    otherwise: 'a copy sends some batches twice; it takes longer',
    waits: true,
    ask: async ({ flat }) => {
      const [key, id] = [['signatures'], 'signatures'];
      // The first request is signed, and the second is sent with its signature.
      const own = flat.again();
      await own.run({ verb: 'create', key, text: flatText(id, id) });
      await own.pause(SIGNED_FOR_MS);
      await own.run({ verb: 'read', key, id });
      const isRefused = own.requests.signaturesRefused > 0;
      return { holds: !isRefused, seen: isRefused ? 'refused with 401' : 'accepted' };
    },
  },
];
