/**
 * A lagging replica: without the session token of a write a reader may see the past, as a whole and
 * consistent; with the token it may not. Nothing that was missed once is skipped for good.
 */
import * as cosmos from '@azure/cosmos';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FeedFollower } from '../../faults/harness/emulator/feed.ts';
import { Lab } from '../../helpers/emulator/lab.ts';
import { headerOf, parseJson, substatusOf, type Reply } from '../../helpers/emulator/raw.ts';
import { until } from '../../helpers/wait.ts';
import type { Doc, Version, WireContainer } from '../../helpers/emulator/wire-container.ts';

/** Longer than any test: what is written stays unseen until the test lets the replica catch up. */
const LAG_MS = 600_000;
const KEY = ['p'];

let lab: Lab;
let wire: WireContainer;

beforeEach(async () => {
  lab = await Lab.onEmulator(cosmos, { settings: { avad: true } });
  ({ wire } = await lab.container());
});

afterEach(() => lab[Symbol.asyncDispose]());

function lag(replicaLagMs: number): Promise<void> {
  return lab.admin.account({ replicaLagMs });
}

function document(id: string, version: number): string {
  return JSON.stringify({ id, pk: 'p', version });
}

async function write(id: string, version: number): Promise<string> {
  return tokenOf(await wire.upsert(document(id, version), KEY));
}

function tokenOf(reply: Reply): string {
  expect(reply.status).toBeLessThan(300);
  return headerOf(reply, 'x-ms-session-token');
}

/** What a point read shows: the version, or the status when there is none. */
async function read(id: string, token?: string): Promise<unknown> {
  const reply = await wire.read(id, KEY, { 'x-ms-session-token': token });
  return reply.status === 200 ? parseJson<Doc>(reply)['version'] : reply.status;
}

async function scope(): Promise<{ rangeId: string }> {
  return { rangeId: (await wire.onlyRange()).id };
}

function idsOf(docs: readonly Doc[]): string[] {
  return docs.map((doc) => `${doc.id}${String(doc['version'])}`);
}

describe('a point read', () => {
  it('without the token -> the old version, with it the new one', async () => {
    await write('a', 1);
    await lag(LAG_MS);
    const token = await write('a', 2);
    expect(await read('a')).toBe(1);
    expect(await read('a', token)).toBe(2);
    const newer = await write('a', 3);
    expect(await read('a')).toBe(1);
    // The token of version 2 promises version 2; the replica has seen no more than that.
    expect(await read('a', token)).toBe(2);
    expect(await read('a', newer)).toBe(3);
  });

  it('without the token -> no new document, and still the deleted one', async () => {
    await write('a', 1);
    await lag(LAG_MS);
    const created = await write('b', 1);
    const deleted = tokenOf(await wire.delete('a', KEY));
    expect([await read('b'), await read('a')]).toEqual([404, 1]);
    expect([await read('b', created), await read('a', created)]).toEqual([1, 1]);
    expect([await read('b', deleted), await read('a', deleted)]).toEqual([1, 404]);
  });

  it('a document was deleted and created again -> the version in between shows', async () => {
    await write('a', 1);
    await lag(LAG_MS);
    const deleted = tokenOf(await wire.delete('a', KEY));
    const created = await write('a', 2);
    expect([await read('a'), await read('a', deleted), await read('a', created)]).toEqual([1, 404, 2]);
  });

  it('an old version was shown -> the token promises no more', async () => {
    const first = await write('a', 1);
    await lag(LAG_MS);
    const second = await write('a', 2);
    const stale = await wire.read('a', KEY);
    expect(headerOf(stale, 'x-ms-session-token')).toBe(first);
    expect(await read('a', headerOf(stale, 'x-ms-session-token'))).toBe(1);
    const fresh = await wire.read('a', KEY, { 'x-ms-session-token': second });
    expect(headerOf(fresh, 'x-ms-session-token')).toBe(second);
  });

  it('a token ahead of the range -> 404/1002', async () => {
    const token = await write('a', 1);
    const [range, vector = ''] = token.split('#');
    const ahead = `${range}#${Number(vector) + 1}`;
    for (const lagMs of [0, LAG_MS]) {
      await lag(lagMs);
      const reply = await wire.read('a', KEY, { 'x-ms-session-token': ahead });
      expect([reply.status, substatusOf(reply)]).toEqual([404, 1002]);
      const feed = await wire.readFeed(await scope(), 'beginning', { sessionToken: ahead });
      expect([feed.status, substatusOf(feed)]).toEqual([404, 1002]);
    }
  });

  it('time passes -> it catches up, never backwards or empty', async () => {
    const lagMs = 25;
    // Versions count from beyond any status, so that version 404 does not look like a missing document.
    const FIRST = 1_000;
    await write('a', FIRST);
    await lag(lagMs);
    const endsAt = Date.now() + 1_500;
    let written = FIRST;
    const seen: unknown[] = [];
    // A machine that stops this process for a while needs longer to see some versions.
    const isOver = (): boolean => Date.now() >= endsAt && new Set(seen).size > 10;
    const writer = async (): Promise<void> => {
      while (!isOver()) await write('a', (written += 1));
    };
    const reader = async (): Promise<void> => {
      while (!isOver()) seen.push(await read('a'));
    };
    await Promise.all([writer(), reader()]);
    expect(seen.filter((version) => typeof version !== 'number' || version < FIRST)).toEqual([]);
    expect(seen).toEqual((seen as number[]).toSorted((left, right) => left - right));
    await until(async () => (await read('a')) === written, { what: 'the newest version' });
  });
});

describe('the feed of the latest versions', () => {
  it('without the token -> ends early, and its etag skips nothing', async () => {
    await write('a', 1);
    await lag(LAG_MS);
    const token = await write('b', 1);
    const early = await wire.drain(await scope(), 'beginning');
    expect(idsOf(early.items)).toEqual(['a1']);
    const again = await wire.feed(await scope(), { etag: early.etag });
    expect(again.status).toBe(304);
    const withToken = await wire.drain(await scope(), { etag: again.etag }, { sessionToken: token });
    expect(idsOf(withToken.items)).toEqual(['b1']);
    await lag(0);
    const later = await wire.drain(await scope(), { etag: again.etag });
    expect(idsOf(later.items)).toEqual(['b1']);
  });

  it('a version was replaced since -> it shows, then the new one', async () => {
    await write('a', 1);
    await write('b', 1);
    await lag(LAG_MS);
    await write('a', 2);
    await wire.delete('b', KEY);
    const early = await wire.drain(await scope(), 'beginning');
    expect(idsOf(early.items)).toEqual(['a1', 'b1']);
    await lag(0);
    expect(idsOf((await wire.drain(await scope(), { etag: early.etag })).items)).toEqual(['a2']);
    expect(idsOf((await wire.drain(await scope(), 'beginning')).items)).toEqual(['a2']);
  });

  it('a position reached with a token -> never behind it', async () => {
    await write('a', 1);
    await lag(LAG_MS);
    const token = await write('b', 1);
    const ahead = await wire.drain(await scope(), 'beginning', { sessionToken: token });
    const without = await wire.feed(await scope(), { etag: ahead.etag });
    expect([without.status, without.etag]).toEqual([304, ahead.etag]);
    await write('c', 1);
    await lag(0);
    expect(idsOf((await wire.drain(await scope(), { etag: without.etag })).items)).toEqual(['c1']);
  });

  it('a lag and a split -> every document shows once', async () => {
    await lag(40);
    const lsns = new Map<string, number>();
    const repeated: string[] = [];
    const follower = new FeedFollower(wire, {
      mode: 'lv',
      maxItems: 7,
      onEntry: ({ text, lsn }) => {
        const { id, version } = JSON.parse(text) as { id: string; version: number };
        const before = lsns.get(id);
        if (before !== undefined && before >= lsn) repeated.push(`${id}${version} at ${lsn}`);
        lsns.set(id, lsn);
      },
    });
    await follower.start('beginning');
    const newest = new Map<string, string>();
    const endsAt = Date.now() + 1_500;
    const writer = async (lane: number): Promise<void> => {
      for (let turn = 0; Date.now() < endsAt; turn += 1) {
        const id = `d${lane}-${turn % 9}`;
        const pk = `key ${lane}`;
        const reply = await wire.upsert(JSON.stringify({ id, pk, version: turn }), [pk]);
        newest.set(id, headerOf(reply, 'lsn'));
      }
    };
    const reader = async (): Promise<void> => {
      while (Date.now() < endsAt) await follower.turn();
    };
    const splitter = async (): Promise<void> => {
      for (const waitMs of [400, 400]) {
        await delay(waitMs);
        await lab.admin.split(wire.adminPath);
      }
    };
    await Promise.all([writer(1), writer(2), writer(3), writer(4), reader(), splitter()]);
    await until(
      async () => {
        await follower.turn();
        return [...newest].every(([id, lsn]) => lsns.get(id) === Number(lsn));
      },
      { what: 'the newest version of every document' },
    );
    expect(repeated).toEqual([]);
    expect(follower.leases.length).toBe(3);
  });
});

describe('the feed of all versions and deletes', () => {
  it('without the token -> ends early, and its etag skips nothing', async () => {
    await lag(LAG_MS);
    const start = await wire.feed(await scope(), 'now', { mode: 'avad' });
    await write('a', 1);
    await write('a', 2);
    const token = tokenOf(await wire.delete('a', KEY));
    const early = await wire.feed(await scope(), start, { mode: 'avad' });
    expect(early.status).toBe(304);
    const operations = (items: readonly Version[]): string[] =>
      items.map((item) => item.metadata.operationType);
    const withToken = await wire.drain<Version>(await scope(), early, { mode: 'avad', sessionToken: token });
    expect(operations(withToken.items)).toEqual(['create', 'replace', 'delete']);
    await lag(0);
    const later = await wire.drain<Version>(await scope(), early, { mode: 'avad' });
    expect(operations(later.items)).toEqual(['create', 'replace', 'delete']);
  });
});

describe('a split', () => {
  it('a token of the parent -> valid, and the children lag as the parent did', async () => {
    await write('a', 1);
    await lag(LAG_MS);
    const token = await write('a', 2);
    await lab.admin.split(wire.adminPath);
    expect(await read('a')).toBe(1);
    expect(await read('a', token)).toBe(2);
    const newer = await write('a', 3);
    expect([await read('a'), await read('a', token), await read('a', newer)]).toEqual([1, 2, 3]);
    // A token list names every range the client knows; those of others do not matter here.
    expect(await read('a', `77:-1#99999,${newer}`)).toBe(3);
  });

  it('a token of the parent ahead of the child -> refused', async () => {
    const token = await write('a', 1);
    await lab.admin.split(wire.adminPath);
    const [range, lsn = ''] = token.split('#');
    const reply = await wire.read('a', KEY, { 'x-ms-session-token': `${range}#${Number(lsn) + 5}` });
    expect([reply.status, substatusOf(reply)]).toEqual([404, 1002]);
  });
});

describe('replicaLagMs', () => {
  it('replicaLagMs off, then on -> no lag at once, then a lag from zero', async () => {
    await write('a', 1);
    await lag(LAG_MS);
    await write('a', 2);
    await lag(0);
    expect(await read('a')).toBe(2);
    await write('a', 3);
    await write('b', 1);
    await lag(LAG_MS);
    // Both were written while nothing lagged: every replica has them.
    expect([await read('a'), await read('b')]).toEqual([3, 1]);
    await write('a', 4);
    expect([await read('a'), await read('b')]).toEqual([3, 1]);
  });

  it('replicaLagMs grows -> no version from before it was kept', async () => {
    await write('a', 1);
    await lag(50);
    await write('a', 2);
    await until(async () => (await read('a')) === 2, { what: 'version 2' });
    // The emulator drops version 1 a moment after the last reader could see it.
    await delay(400);
    await lag(LAG_MS);
    expect(await read('a')).toBe(2);
  });
});
