/**
 * Checks everything that a migration needs, end to end. Invariant: it changes nothing, neither in an account nor on
 * this machine.
 */
import { connect, type Account } from '../cosmos/account/client.ts';
import { describeAccount } from '../cosmos/account/describe.ts';
import { clockOff } from '../cosmos/account/service-time.ts';
import { readContainer, type ContainerFacts } from '../cosmos/container/inspect.ts';
import { listScripts } from '../cosmos/container/scripts.ts';
import { differencesOf } from '../cosmos/container/settings.ts';
import { ruOf, throughputText } from '../cosmos/container/throughput.ts';
import { ContainerRequests, type ContainerName } from '../cosmos/transport/container-requests.ts';
import type { RekeyOptions } from '../keys/rekey.ts';
import type { Clock } from '../lib/clock.ts';
import { formatCount } from '../lib/counting.ts';
import type { Log } from '../lib/log.ts';
import type { Random } from '../lib/random.ts';
import { deletesFor } from '../preflight/delete-mode.ts';
import { ledgerBytesFor } from '../preflight/estimate.ts';
import { inspectionCall, planOf, rateOf } from '../preflight/inspect.ts';
import { probe, type ProbeParts } from '../preflight/permissions.ts';
import { missingContainer } from '../preflight/missing-container.ts';
import {
  CREATE_HINT,
  SOURCE_HINT,
  refuseOccupied,
  refuseOtherKey,
  refuseSame,
} from '../preflight/refusals.ts';
import { Reservation } from '../preflight/reservation.ts';
import { checkBegun, orMissing } from '../preflight/begun.ts';
import { checkCreation } from '../cosmos/container/create.ts';
import type { Connections } from '../spec/connection.ts';
import type { MigrationSpec } from '../spec/migration-spec.ts';
import { rekeyOptionsOf } from '../spec/rekey-options.ts';
import { TIMING } from '../spec/timing.ts';
import { Checklist, type Check, type CheckName, type Found, type FoundValue } from './check.ts';
import { checkMachine, diskFor, type LedgerState } from './machine.ts';
import { sampledKey } from './sampled-key.ts';

export interface DoctorParts {
  readonly spec: MigrationSpec;
  readonly connections: Connections;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Called with each check as it is made, and with checks that are skipped together. */
  readonly onChecks: (checks: readonly Check[]) => void;
}

/** `hasBegun`: whether the ledger has a migration that has begun. */
type BegunParts = DoctorParts & { readonly hasBegun: boolean };

/** A side whose account answered. `facts` is null if the container does not exist and cosmig copy will create it. */
interface Reached {
  readonly side: 'source' | 'target';
  readonly account: Account;
  readonly facts: ContainerFacts | null;
}

export async function examine(parts: DoctorParts): Promise<readonly Check[]> {
  const list = new Checklist(parts.signal, parts.onChecks);
  const accounts: Account[] = [];
  try {
    await checkAll(list, accounts, parts);
    return list.checks;
  } finally {
    for (const account of accounts) account[Symbol.dispose]();
  }
}

/** Makes every check. Adds the accounts that it opens to `accounts`. */
async function checkAll(list: Checklist, accounts: Account[], parts: DoctorParts): Promise<void> {
  const { spec, env } = parts;
  const ledger = await checkMachine(list, { ledger: spec.ledger, env });
  const begun = { ...parts, hasBegun: ledger?.hasBegun === true };
  const reach = async (side: 'source' | 'target'): Promise<Reached | undefined> => {
    const account = await checkAccount(list, side, parts);
    if (account === undefined) return undefined;
    accounts.push(account);
    const facts = await list.make(side, 'container', async () => containerOf(side, account, begun));
    if (facts !== undefined) return { side, account, facts };
    list.skip(side, AFTER_CONTAINER[side], `the container of the ${side} could not be read`);
    return undefined;
  };
  const source = await reach('source');
  await checkSource(list, source, begun);
  const documents = source?.facts?.documentCount ?? null;
  const { connections } = parts;
  if (accounts.length === 0 && connections.source === connections.target) {
    // The same account would be asked the same again, and an unreachable one is waited for.
    list.skip(
      'target',
      ['account', 'container', ...AFTER_CONTAINER.target],
      'it is in the account of the source, which could not be used',
    );
  } else {
    await checkTarget(list, { source, target: await reach('target'), ledger }, parts);
  }
  const bytes = documents === null ? null : ledgerBytesFor(documents);
  await list.make('machine', 'disk', async () => diskFor(spec.ledger, bytes));
}

async function checkAccount(
  list: Checklist,
  side: 'source' | 'target',
  parts: DoctorParts,
): Promise<Account | undefined> {
  const { signal, connections } = parts;
  let account: Account | undefined;
  const described = await list.make(side, 'account', async () => {
    account = await connect(connections[side], { signal, clock: parts.clock });
    const value = await describeAccount(account, inspectionCall(parts));
    if (value === undefined) {
      return {
        message: `${account.endpoint} answers`,
        warning: {
          why: 'the identity may not read the account, so its regions and its consistency are not known',
          hint: 'give it Microsoft.DocumentDB/databaseAccounts/readMetadata on the account',
        },
        value: null,
      };
    }
    const { id, regions, consistency, multiWrite } = value;
    const details = [
      `account ${id ?? 'without a name'} answers`,
      ...(regions.length === 0 ? [] : [regions.join(', ')]),
      ...(consistency === null ? [] : [`${consistency} consistency`]),
    ];
    if (!multiWrite) return { message: details.join('; '), value };
    return {
      message: [...details, 'several regions accept writes'].join('; '),
      warning: {
        why: 'the feed of all versions has no single order there, so deletes are found by comparing',
        hint: 'stop the writers of all regions before the cutover',
      },
      value,
    };
  });
  if (described === undefined || account === undefined) {
    account?.[Symbol.dispose]();
    list.skip(side, ['container', ...AFTER_CONTAINER[side]], `the account of the ${side} could not be used`);
    return undefined;
  }
  const aheadMs = described?.clockAheadMs ?? null;
  if (described === null) list.skip(side, ['clock'], 'the account could not be read');
  if (aheadMs !== null) await list.make(side, 'clock', async () => clockOf(aheadMs));
  return account;
}

function clockOf(aheadMs: number): Found {
  const seconds = Math.round(Math.abs(aheadMs) / 1000);
  if (seconds < 2) return { message: "this machine's clock agrees with the service's" };
  const message = clockOff(aheadMs);
  if (message === undefined)
    return {
      message: `this machine's clock is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the service's`,
    };
  return {
    message,
    warning: {
      why: "expiry and signatures follow the service's time, but times in the output and --until follow this clock",
      hint: 'set the clock, or let NTP set it',
    },
  };
}

const AFTER_CONTAINER: Readonly<Record<'source' | 'target', readonly CheckName[]>> = {
  source: ['throughput', 'permissions', 'deletes', 'key'],
  target: ['throughput', 'permissions', 'key', 'documents', 'settings'],
};

async function containerOf(
  side: 'source' | 'target',
  account: Account,
  parts: BegunParts,
): Promise<FoundValue<ContainerFacts | null>> {
  const { spec } = parts;
  const address = spec[side];
  const name: ContainerName = { database: address.database, container: address.container };
  const text = `${name.database}/${name.container}`;
  const facts = await readContainer(account, name, inspectionCall(parts));
  if (facts === undefined) {
    if (side === 'target' && parts.hasBegun) orMissing(null, parts);
    if (side === 'source' || spec.creation.kind === 'none') {
      const hint = side === 'source' ? SOURCE_HINT : CREATE_HINT;
      const missing = { side, account, address, hint, hasBegun: parts.hasBegun };
      throw await missingContainer(missing, inspectionCall(parts));
    }
    return { message: `container ${text} does not exist; cosmig copy will create it`, value: null };
  }
  const count = facts.documentCount === null ? '' : `; about ${formatCount(facts.documentCount)} documents`;
  return { message: `container ${text} has the key ${facts.keyPaths.join(', ')}${count}`, value: facts };
}

async function checkSource(list: Checklist, source: Reached | undefined, parts: BegunParts): Promise<void> {
  if (source === undefined || source.facts === null) return;
  const { account, facts } = source;
  await list.make('source', 'throughput', async () => throughputOf('source', facts, parts));
  const asked = askedOf('source', { account, facts }, parts);
  const isAllowed = await list.make('source', 'permissions', async () => {
    await probe(asked);
    return {
      message: 'the change feed and documents may be read: enough for copy, tail, verify and cutover',
      value: true,
    };
  });
  await list.make('source', 'deletes', async () => {
    const { mode, notes } = await deletesFor(parts.spec, facts, {
      ...asked,
      patience: asked.patience.fresh(),
    });
    const found = { message: `deletes: ${DELETES[mode]}` };
    const [note] = notes;
    if (note === undefined || parts.spec.deletes.kind !== 'auto') return found;
    return {
      message: 'deletes: not replicated as they happen',
      warning: {
        why: note,
        hint: 'accept it, or enable continuous backup and the feature All versions and deletes change feed',
      },
    };
  });
  // A migration that has begun has its key, and the operator has accepted what the copy warned of.
  if (parts.hasBegun) return;
  if (isAllowed === undefined) return list.skip('source', ['key'], 'an earlier check failed');
  const { spec, clock } = parts;
  await list.make('source', 'key', async () =>
    sampledKey({
      spec,
      source: { account, facts },
      clock,
      asked: { ...asked, patience: asked.patience.fresh() },
    }),
  );
}

const DELETES = {
  avad: 'the change feed of all versions and deletes shows them',
  reconcile: 'found by comparing both sides',
  marker: 'marked by a property of the documents',
} as const;

function throughputOf(
  side: 'source' | 'target',
  { throughput }: ContainerFacts,
  { spec }: DoctorParts,
): Found {
  const budget = side === 'source' ? spec.sourceBudget : spec.targetBudget;
  const text = throughput.kind === 'shared' ? 'shared with its database' : throughputText(throughput);
  const ru = rateOf(side, budget, throughput);
  const share =
    ru === undefined || ru === ruOf(throughput)
      ? ''
      : `, of which ${formatCount(Math.round(ru))} RU/s may be used`;
  if (throughput.kind !== 'unknown') return { message: `throughput: ${text}${share}` };
  return {
    message: `throughput: ${text}${share}`,
    warning: {
      why: 'an identity of Entra ID may not read the throughput with data-plane permissions',
      hint: `give --${side}-ru in RU/s if the application needs a part of the throughput`,
    },
  };
}

async function checkTarget(
  list: Checklist,
  {
    source,
    target,
    ledger,
  }: {
    readonly source: Reached | undefined;
    readonly target: Reached | undefined;
    readonly ledger: LedgerState | undefined;
  },
  parts: DoctorParts,
): Promise<void> {
  const { spec, connections } = parts;
  if (target === undefined) return;
  const { account, facts } = target;
  const like = source?.facts ?? null;
  if (ledger?.hasBegun === true && like !== null) {
    const known = await list.make('target', 'migration', async () => {
      checkBegun(spec, { source: like, target: facts });
      return { message: 'both containers are those with which the migration has begun', value: true };
    });
    if (known === undefined) {
      list.skip(
        'target',
        ['throughput', 'permissions', 'key', 'documents', 'settings'],
        'an earlier check failed',
      );
      return;
    }
  }
  if (facts === null) {
    if (source === undefined || like === null)
      return list.skip('target', ['settings'], 'the source could not be read');
    await list.make('target', 'settings', async () => {
      const call = inspectionCall(parts);
      const scripts = await listScripts(source.account, like.name, call);
      await checkCreation(
        account,
        planOf({ spec, connections, like: { facts: like, scripts } }),
        inspectionCall(parts),
      );
      return { message: 'it can be created with the settings of the source' };
    });
    return;
  }
  await list.make('target', 'throughput', async () => throughputOf('target', facts, parts));
  const asked = askedOf('target', { account, facts }, parts);
  const isAllowed = await list.make('target', 'permissions', async () => {
    await probe(asked);
    return {
      message:
        'documents may be read, created, replaced and deleted: enough for copy, tail, verify and cutover',
      value: true,
    };
  });
  if (source === undefined || like === null) {
    list.skip('target', ['key', 'documents', 'settings'], 'the source could not be read');
    return;
  }
  const rekey = await list.make<RekeyOptions>('target', 'key', async () => {
    refuseSame(like, facts, spec);
    const value = rekeyOptionsOf(spec, like, facts);
    refuseOtherKey(facts, value.plan, spec);
    return { message: `the key ${facts.keyPaths.join(', ')} is the one that the migration needs`, value };
  });
  if (rekey === undefined || ledger === undefined || isAllowed === undefined) {
    list.skip('target', ['documents'], 'an earlier check failed');
  } else {
    await list.make('target', 'documents', async () => {
      if (ledger.hasBegun) return { message: 'it holds the copies of the migration' };
      await new Reservation(asked.requests, facts, {
        ...asked,
        patience: asked.patience.fresh(),
      }).refuseOther(ledger.ledgerName);
      const from = { account: source.account, facts: like };
      await refuseOccupied(
        { spec, source: from, target: asked.requests, rekey },
        { ...asked, clock: parts.clock, patience: asked.patience.fresh() },
      );
      return { message: 'it is empty' };
    });
  }
  await list.make('target', 'settings', async () => {
    const call = inspectionCall(parts);
    const differences = differencesOf(
      { facts: like, scripts: await listScripts(source.account, like.name, call) },
      { facts, scripts: await listScripts(account, facts.name, call) },
    );
    if (differences.length === 0) return { message: 'its settings equal those of the source' };
    return {
      message: `settings differ from the source: ${differences.map(({ setting }) => setting).join(', ')}`,
      warning: {
        why: 'queries and limits may differ after the cutover',
        hint: 'see the values with cosmig copy --dry-run; cosmig cutover --like-source sets what can be changed later',
      },
    };
  });
}

function askedOf(
  side: 'source' | 'target',
  { account, facts }: { readonly account: Account; readonly facts: ContainerFacts },
  parts: DoctorParts,
): ProbeParts {
  const { random, signal, connections } = parts;
  return {
    side,
    requests: new ContainerRequests(account, facts.name),
    facts,
    connection: connections[side],
    random,
    signal,
    timeoutMs: TIMING.requestTimeoutMs,
    patience: inspectionCall(parts).patience,
  };
}
