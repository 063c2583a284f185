/** What cosmig relies on where documents expire. The probes wait for documents that live for a second. */
import type { Probe } from './probe.ts';
import { flatText, levelsText } from './scratch.ts';

/**
 * How long a probe waits for a document with a `ttl` of one second to expire. The wait is longer than a second, because
 * the service's time has whole seconds.
 */
const EXPIRED_AFTER_MS = 3200;

export const LIFETIME: readonly Probe[] = [
  {
    id: 'ttl-on',
    fact: 'SVC-11',
    claim: 'where time to live is on without a default, a document expires by its own ttl',
    otherwise: 'copies stay that should expire, or expire otherwise: do not use --ttl remaining',
    waits: true,
    ask: async ({ flat }) => {
      const [key, id] = [['ttl-on'], 'ttl-on'];
      const created = await flat.one({ verb: 'create', key, text: flatText(id, id, { ttl: 1 }) });
      await flat.pause(EXPIRED_AFTER_MS);
      const { status } = await flat.one({ verb: 'read', key, id });
      return {
        holds: created.status === 201 && status === 404,
        seen: `create ${created.status}, read ${status} when it should have expired`,
      };
    },
  },
  {
    id: 'ttl-off',
    fact: 'SVC-11',
    claim: 'where time to live is off, the ttl of a document has no effect',
    otherwise: 'documents of the source may disappear that cosmig expects to stay: report this',
    waits: true,
    ask: async ({ levels }) => {
      const [key, id] = [['ttl', 'off'], 'ttl-off'];
      const text = levelsText(id, 'ttl', 'off', { ttl: 1 });
      const created = await levels.one({ verb: 'create', key, text });
      await levels.pause(EXPIRED_AFTER_MS);
      const { status } = await levels.one({ verb: 'read', key, id });
      return {
        holds: created.status === 201 && status === 200,
        seen: `create ${created.status}, read ${status} after its ttl`,
      };
    },
  },
  {
    id: 'ttl-default',
    fact: 'SVC-11',
    claim:
      'where there is a default lifetime, a document without ttl expires by it, and one with ttl -1 stays',
    otherwise: 'copies expire that should stay, or stay that should expire: do not use --ttl remaining',
    waits: true,
    ask: async ({ expiring }) => {
      const key = ['ttl-default'];
      await expiring.one({ verb: 'create', key, text: flatText('default', key[0]) });
      await expiring.one({ verb: 'create', key, text: flatText('never', key[0], { ttl: -1 }) });
      await expiring.pause(EXPIRED_AFTER_MS);
      const expired = await expiring.one({ verb: 'read', key, id: 'default' });
      const kept = await expiring.one({ verb: 'read', key, id: 'never' });
      return {
        holds: expired.status === 404 && kept.status === 200,
        seen: `read ${expired.status} without ttl, ${kept.status} with ttl -1`,
      };
    },
  },
];
