/** `/_emulator/…`: what is there, and the levers. Reached from this machine only, without a key. */
import { purgeContainer } from '../partitions/background.ts';
import { json, type Call, type Reply } from '../http/request.ts';
import { isObject, own, type JsonObject } from '../json/json-value.ts';
import type { ContainerModel } from '../account/model.ts';
import type { PhysicalRange } from '../partitions/ranges.ts';
import { Refusal } from '../http/refusal.ts';
import { beginSplit, mergeRanges, rangesById, splitRange, fullestRange } from '../partitions/resizing.ts';

function rangeView(call: Call, container: ContainerModel, range: PhysicalRange): JsonObject {
  const spent = call.account.spentBy(container, range);
  return {
    id: String(range.id),
    min: range.min,
    max: range.max,
    parents: range.parents.map(String),
    documents: range.documents,
    bytes: range.bytes,
    lsn: range.lsn,
    ru: spent.totalRu,
    ruLastSecond: spent.lastSecondRu,
    ruBudget: call.account.rangeBudget(container),
    throttled: spent.throttled,
  };
}

function containerView(call: Call, container: ContainerModel): JsonObject {
  return {
    database: container.database.id,
    id: container.id,
    rid: container.rid,
    partitionKey: container.body['partitionKey'],
    throughput: call.account.offerOf(container)?.throughput ?? null,
    documents: container.documents,
    bytes: container.bytes,
    ranges: container.ranges.map((range) => rangeView(call, container, range)),
  };
}

export function state(call: Call): Reply {
  const { account } = call;
  const containers = [...account.containers()];
  return json(200, {
    accounts: [
      {
        id: account.id,
        endpoint: call.endpoint,
        settings: account.settings,
        clockOffsetMs: account.clockOffsetMs,
      },
    ],
    databases: [...account.databases.keys()],
    containers: containers.map((container) => containerView(call, container)),
    totals: {
      containers: containers.length,
      documents: containers.reduce((sum, container) => sum + container.documents, 0),
      bytes: containers.reduce((sum, container) => sum + container.bytes, 0),
    },
    requests: account.counts.snapshot(),
    faults: account.faults.state(),
  });
}

/** The container of `/_emulator/containers/DB/COLL/…`. */
function named(call: Call): ContainerModel {
  return call.account.container(call.segment(2), call.segment(3));
}

function optionsOf(call: Call): JsonObject {
  return call.body.trim() === '' ? {} : call.jsonBody();
}

const DAY_MS = 24 * 3600 * 1000;

export function split(call: Call): Reply {
  const container = named(call);
  const options = optionsOf(call);
  const id = own(options, 'rangeId');
  const durationMs = own(options, 'durationMs') ?? 0;
  if (typeof durationMs !== 'number' || !(durationMs >= 0 && durationMs <= DAY_MS)) {
    throw new Refusal(400, 'durationMs is a number from 0 to a day.');
  }
  const [range = fullestRange(container)] = id === undefined ? [] : rangesById(container, [id]);
  if (durationMs > 0) {
    beginSplit(call.account, container, range, durationMs);
    return json(202, { splitting: String(range.id), durationMs });
  }
  const children = splitRange(call.account, container, range);
  return json(200, { ranges: children.map((child) => rangeView(call, container, child)) });
}

export function merge(call: Call): Reply {
  const container = named(call);
  const ids = own(optionsOf(call), 'rangeIds');
  if (!Array.isArray(ids) || ids.length !== 2)
    throw new Refusal(400, 'rangeIds names the two ranges to merge.');
  const [left, right] = rangesById(container, ids);
  if (left === undefined || right === undefined || left === right)
    throw new Refusal(400, 'A merge needs two ranges.');
  return json(200, {
    ranges: [rangeView(call, container, mergeRanges(call.account, container, left, right))],
  });
}

export function purge(call: Call): Reply {
  return json(200, { purged: purgeContainer(call.account, named(call)) });
}

export function configure(call: Call): Reply {
  call.account.configure(call.anyJsonBody());
  return json(200, call.account.settings);
}

export function shiftClock(call: Call): Reply {
  const offsetMs = own(call.anyJsonBody(), 'offsetMs');
  // `_ts` counts seconds from 1970; dates end at 8.64e15 ms, and a hundred years ahead is far from there.
  const earliestMs = -call.account.machineMs();
  const latestMs = 100 * 365 * 24 * 3600 * 1000;
  if (typeof offsetMs !== 'number' || !(offsetMs >= earliestMs && offsetMs <= latestMs)) {
    throw new Refusal(
      400,
      'offsetMs is a number of milliseconds that leads to 1970 or later, at most a hundred years ahead.',
    );
  }
  call.account.shiftClock(offsetMs);
  return json(200, { offsetMs });
}

export function setFaults(call: Call): Reply {
  const plan = call.anyJsonBody();
  if (!isObject(plan)) throw new Refusal(400, 'The faults are an object {seed, rules}.');
  call.account.faults.set(plan);
  return json(200, call.account.faults.state());
}

export function clearFaults(call: Call): Reply {
  call.account.faults.clear();
  return json(200, call.account.faults.state());
}
