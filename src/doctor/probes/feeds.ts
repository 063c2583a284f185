/** What cosmig relies on in the latest-version feed. */
import type { Probe } from './probe.ts';
import { documentsIn, flatText } from './scratch.ts';
import { lsnOf, SessionTokens } from '../../cosmos/feed/session-tokens.ts';

export const FEEDS: readonly Probe[] = [
  {
    id: 'feed-order',
    fact: 'SVC-15',
    claim: 'the latest-version feed lists documents in the order of their last change',
    otherwise: 'a tail might take an older version for the newest one: do not migrate; report this',
    ask: async ({ flat }) => {
      const key = ['feed-order'];
      const ids = ['order-1', 'order-2', 'order-3'];
      // Each document has a request of its own, because documents of one transaction share an LSN and have no order.
      for (const id of ids) await flat.one({ verb: 'create', key, text: flatText(id, key[0]) });
      const text = flatText('order-1', key[0], { changed: true });
      const { sessionToken } = await flat.run({ verb: 'replace', key, id: 'order-1', text });
      const { bytes } = await flat.readPage('latest-version', 'beginning', sessionToken);
      const seen = documentsIn(bytes)
        .map(({ id }) => String(id))
        .filter((id) => ids.includes(id));
      return { holds: seen.join() === 'order-2,order-3,order-1', seen: seen.join(', ') };
    },
  },
  {
    id: 'feed-lsn',
    fact: 'SVC-15',
    claim: 'documents in the latest-version feed have an _lsn, up to the LSN of the session token',
    otherwise: 'cosmig cannot place a change before or after an anchor: do not migrate; report this',
    ask: async ({ flat }) => {
      const key = ['feed-lsn'];
      const { sessionToken } = await flat.run({ verb: 'create', key, text: flatText('lsn', key[0]) });
      const page = await flat.readPage('latest-version', 'beginning', sessionToken);
      const lsns = documentsIn(page.bytes).map(({ _lsn: lsn }) => lsn);
      const isNumbered = lsns.every((lsn) => typeof lsn === 'number' && lsn <= (page.lsn ?? 0));
      const newest = lsnOf(sessionToken);
      return {
        holds: lsns.length > 0 && isNumbered && lsns.includes(newest),
        seen: `LSNs ${lsns.slice(-3).join(', ')} on the page; session tokens ${newest} and ${page.lsn}`,
      };
    },
  },
  {
    id: 'feed-end',
    fact: 'SVC-16',
    claim: 'a feed without anything new answers 304, with a position',
    otherwise: 'a copy does not notice that it is complete: end it with --for; report this',
    ask: async ({ flat }) => {
      const { position } = await flat.readPage('latest-version', 'now');
      const { status } = await flat.readPage('latest-version', position);
      return { holds: status === 304, seen: `status ${status}` };
    },
  },
  {
    id: 'feed-positions',
    fact: 'SVC-22',
    claim: 'a position of one feed is refused by the other',
    otherwise: 'nothing: cosmig stores the feed with each position',
    ask: async ({ flat, hasAllVersions }) => {
      if (!hasAllVersions) return { notAsked: 'the account does not serve all versions and deletes' };
      const { position } = await flat.readPage('latest-version', 'now');
      const page = await flat.page('all-versions', { ...position, mode: 'all-versions' });
      return { holds: page.status === 400, seen: `status ${page.status}` };
    },
  },
  {
    id: 'session-future',
    fact: 'SVC-39',
    claim: 'a read with a session token that no replica has reached is answered with 404/1002',
    otherwise:
      'cosmig cannot prove that it has seen the newest change: stop writers for longer with --quiet-for; report this',
    ask: async ({ flat }) => {
      const { sessionToken } = await flat.readPage('latest-version', 'now');
      const sessions = new SessionTokens();
      sessions.add(sessionToken);
      const { token } = sessions.beyond((await flat.range()).range, 1_000_000);
      const page = await flat.page('latest-version', 'now', token);
      const isRefused = page.status === 404 && 'kind' in page && page.substatus === 1002;
      return { holds: isRefused, seen: `status ${page.status}${'kind' in page ? `/${page.substatus}` : ''}` };
    },
  },
];
