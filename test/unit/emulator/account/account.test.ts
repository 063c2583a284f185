/**
 * The invariant: memory and file hold the same, whatever SQLite refuses in mid-transaction. Each piece of work
 * below is tried with each table refusing writes, as on a full disk; what fails has not happened anywhere.
 */
import { describe, expect, test } from 'vitest';
import { LocalAccount } from '../../../../src/emulator/account/account.ts';
import { purgeContainer } from '../../../../src/emulator/partitions/background.ts';
import { dropOldChanges } from '../../../../src/emulator/partitions/change-feed.ts';
import {
  createContainer,
  createDatabase,
  deleteContainer,
  deleteDatabase,
  replaceContainer,
  changeThroughput,
} from '../../../../src/emulator/account/catalog.ts';
import type { ContainerModel } from '../../../../src/emulator/account/model.ts';
import {
  finishScaling,
  mergeRanges,
  splitOutgrown,
  splitRange,
} from '../../../../src/emulator/partitions/resizing.ts';
import { must } from '../../../../src/lib/assert.ts';
import { MemoryAccount } from '../../../helpers/emulator/memory-account.ts';

const TABLES = ['settings', 'databases', 'containers', 'ranges', 'offers', 'documents', 'changes'] as const;

const BODY = { partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 } };

const WORK: Readonly<Record<string, (memory: MemoryAccount, container: ContainerModel) => unknown>> = {
  'a write': (memory, container) => memory.write(container, { id: 'new' }, { id: '3', key: 3 }),
  'a delete': (memory, container) => memory.write(container, { id: '3', key: 3, kind: 'delete' }),
  'a purge': (memory, container) => purgeContainer(memory.account, container),
  'a split': ({ account }, container) => splitRange(account, container, rangeAt(container, 0)),
  'a split by size': ({ account }) => {
    account.configure({ rangeLimitBytes: 100 });
    splitOutgrown(account);
  },
  'a merge': ({ account }, container) => {
    account.configure({ avad: false });
    mergeRanges(account, container, rangeAt(container, 0), rangeAt(container, 1));
  },
  'a new database': ({ account }) => createDatabase(account, { id: 'other' }, { mode: 'manual', ru: 1000 }),
  'a database that goes': ({ account, database }) => deleteDatabase(account, database),
  'a new container': ({ account, database }) =>
    createContainer(account, database, { ...BODY, id: 'other' }, { mode: 'manual', ru: 12_000 }),
  'a container that goes': ({ account }, container) => deleteContainer(account, container),
  'a changed container': ({ account }, container) =>
    replaceContainer(account, container, { ...BODY, id: container.id, defaultTtl: 7 }),
  'a raised throughput': ({ account }, container) => {
    changeThroughput(account, must(account.offerOf(container), 'it pays'), { mode: 'manual', ru: 40_000 });
    finishScaling(account);
  },
  'AVAD switched off': ({ account }) => account.configure({ avad: false }),
  'AVAD switched off and on': ({ account }) => {
    account.configure({ avad: false });
    account.configure({ avad: true });
  },
  'old changes that go': ({ account, clock }) => {
    clock.advance(1000 * (account.settings.retentionSeconds + 10));
    dropOldChanges(account);
  },
  'a shifted clock': ({ account }) => account.shiftClock(5000),
};

function rangeAt(container: ContainerModel, index: number) {
  return must(container.ranges[index], 'the container has two ranges');
}

/** The fields of a model, but for links to others and what only memory keeps. */
function fieldsOf(model: object): unknown {
  const skipped = /^(?:database|containers|documentRid|previousRanges)$/;
  return Object.fromEntries(Object.entries(model).filter(([name]) => !skipped.test(name)));
}

/** All that an account holds in memory and in its file. */
function pictureOf(account: LocalAccount): unknown {
  const containers = [...account.containers()].map(fieldsOf);
  const offers = [...account.offers.values()].map(({ pendingUntilMs, ...offer }) => ({
    ...offer,
    isPending: pendingUntilMs !== undefined,
  }));
  const databases = [...account.databases.values()].map(fieldsOf);
  return structuredClone({ databases, containers, offers, settings: account.settings, at: account.nowMs() });
}

function refuseWrites(memory: MemoryAccount, table: string): void {
  for (const verb of ['INSERT', 'UPDATE', 'DELETE']) {
    memory.sql.exec(
      `CREATE TEMP TRIGGER refuse_${verb} BEFORE ${verb} ON ${table} BEGIN SELECT RAISE(ABORT, 'no room'); END`,
    );
  }
}

function takeWrites(memory: MemoryAccount): void {
  for (const verb of ['INSERT', 'UPDATE', 'DELETE']) memory.sql.exec(`DROP TRIGGER refuse_${verb}`);
}

/** True when the work was refused; what else goes wrong is thrown on. */
function isRefused(work: () => unknown): boolean {
  try {
    work();
    return false;
  } catch (error) {
    if (error instanceof Error && error.message === 'no room') return true;
    throw error;
  }
}

describe.each(Object.entries(WORK))('%s', (_name, work) => {
  test('a table refuses the write -> memory equals the file', () => {
    const refusedBy = TABLES.filter((table) => {
      using memory = new MemoryAccount({ avad: true, scaleUpMs: 0 });
      const container = memory.container({ defaultTtl: 60 }, { mode: 'manual', ru: 12_000 });
      for (let number = 0; number < 10; number += 1)
        memory.write(container, { id: `${number}`, key: number });
      memory.clock.advance(61_000);
      memory.write(container, { id: '3', key: 3 });
      refuseWrites(memory, table);
      const refused = isRefused(() => work(memory, container));
      takeWrites(memory);
      const fromFile = (): unknown => pictureOf(new LocalAccount(memory.sql, memory.clock));
      expect([table, pictureOf(memory.account)]).toEqual([table, fromFile()]);
      // And it continues from there.
      if (memory.database.containers.has(container.id)) memory.write(container, { id: 'next', key: 'next' });
      expect([table, pictureOf(memory.account)]).toEqual([table, fromFile()]);
      return refused;
    });
    expect(refusedBy).not.toEqual([]);
  });
});
