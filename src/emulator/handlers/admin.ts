/**
 * Answers `/_emulator/…`: shows the account's state and changes it. These routes need no key, but answer only this
 * machine.
 */
import { purgeContainer } from '../partitions/background.ts';
import { json, type GatewayRequest, type GatewayReply } from '../http/request.ts';
import { isObject, own, type JsonObject } from '../json/json-value.ts';
import type { ContainerModel } from '../account/model.ts';
import type { RangeModel } from '../partitions/ranges.ts';
import { badRequest } from '../http/refusal.ts';
import { beginSplit, mergeRanges, rangesById, splitRange, fullestRange } from '../partitions/resizing.ts';

function rangeView(request: GatewayRequest, container: ContainerModel, range: RangeModel): JsonObject {
  const spent = request.account.spentBy(container, range);
  const { id, min, max, parents, documents, bytes, lsn } = range;
  return {
    id: String(id),
    min,
    max,
    parents: parents.map(String),
    documents,
    bytes,
    lsn,
    ru: spent.totalRu,
    ruLastSecond: spent.lastSecondRu,
    ruBudget: request.account.rangeBudget(container),
    throttled: spent.throttled,
  };
}

function containerView(request: GatewayRequest, container: ContainerModel): JsonObject {
  return {
    database: container.database.id,
    id: container.id,
    rid: container.rid,
    partitionKey: container.body['partitionKey'],
    throughput: request.account.offerOf(container)?.throughput ?? null,
    documents: container.documents,
    bytes: container.bytes,
    ranges: container.ranges.map((range) => rangeView(request, container, range)),
  };
}

export function state(request: GatewayRequest): GatewayReply {
  const { account } = request;
  const containers = [...account.containers()];
  return json(200, {
    accounts: [
      {
        id: account.id,
        endpoint: request.endpoint,
        settings: account.settings,
        clockOffsetMs: account.clockOffsetMs,
      },
    ],
    databases: [...account.databases.keys()],
    containers: containers.map((container) => containerView(request, container)),
    totals: {
      containers: containers.length,
      documents: containers.reduce((sum, container) => sum + container.documents, 0),
      bytes: containers.reduce((sum, container) => sum + container.bytes, 0),
    },
    requests: account.counts.snapshot(),
    faults: account.faults.state(),
  });
}

/** Returns the container that a path `/_emulator/containers/DB/COLL/…` names. */
function named(request: GatewayRequest): ContainerModel {
  return request.account.container(request.segment(2), request.segment(3));
}

function optionsOf(request: GatewayRequest): JsonObject {
  return request.body.trim() === '' ? {} : request.jsonBody();
}

const DAY_MS = 24 * 3600 * 1000;

export function split(request: GatewayRequest): GatewayReply {
  const container = named(request);
  const options = optionsOf(request);
  const id = own(options, 'rangeId');
  const durationMs = own(options, 'durationMs') ?? 0;
  if (typeof durationMs !== 'number' || !(durationMs >= 0 && durationMs <= DAY_MS)) {
    throw badRequest('durationMs must be a number from 0 to one day.');
  }
  const [range = fullestRange(container)] = id === undefined ? [] : rangesById(container, [id]);
  if (durationMs > 0) {
    beginSplit(request.account, container, range, durationMs);
    return json(202, { splitting: String(range.id), durationMs });
  }
  const children = splitRange(request.account, container, range);
  return json(200, { ranges: children.map((child) => rangeView(request, container, child)) });
}

export function merge(request: GatewayRequest): GatewayReply {
  const container = named(request);
  const ids = own(optionsOf(request), 'rangeIds');
  if (!Array.isArray(ids) || ids.length !== 2)
    throw badRequest('rangeIds must name the two ranges to merge.');
  const [left, right] = rangesById(container, ids);
  if (left === undefined || right === undefined || left === right)
    throw badRequest('A merge needs two ranges.');
  return json(200, {
    ranges: [rangeView(request, container, mergeRanges(request.account, container, left, right))],
  });
}

export function purge(request: GatewayRequest): GatewayReply {
  return json(200, { purged: purgeContainer(request.account, named(request)) });
}

export function configure(request: GatewayRequest): GatewayReply {
  request.account.configure(request.anyJsonBody());
  return json(200, request.account.settings);
}

export function shiftClock(request: GatewayRequest): GatewayReply {
  const offsetMs = own(request.anyJsonBody(), 'offsetMs');
  // `_ts` counts seconds from 1970 and must not be negative. A hundred years ahead is far before the last date that a
  // Date can hold (8.64e15 ms).
  const earliestMs = -request.account.machineMs();
  const latestMs = 100 * 365 * 24 * 3600 * 1000;
  if (typeof offsetMs !== 'number' || !(offsetMs >= earliestMs && offsetMs <= latestMs)) {
    throw badRequest(
      'offsetMs must be a number of milliseconds that leads to 1970 or later, at most a hundred years ahead.',
    );
  }
  request.account.shiftClock(offsetMs);
  return json(200, { offsetMs });
}

export function setFaults(request: GatewayRequest): GatewayReply {
  const plan = request.anyJsonBody();
  if (!isObject(plan)) throw badRequest('The faults must be an object {seed, rules}.');
  request.account.faults.set(plan);
  return json(200, request.account.faults.state());
}

export function clearFaults(request: GatewayRequest): GatewayReply {
  request.account.faults.clear();
  return json(200, request.account.faults.state());
}
