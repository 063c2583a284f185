import { readFeed, type FeedMode } from '../partitions/change-feed.ts';
import type { Call, Reply } from '../http/request.ts';
import { Refusal } from '../http/refusal.ts';
import { sessionToken, visibleLsn } from '../partitions/sessions.ts';
import { list, scopeOf } from './query.ts';

const WIRE_FORMAT = '2021-09-15';

function modeOf(call: Call): FeedMode | undefined {
  const header = call.headers['a-im']?.trim().toLowerCase();
  if (header === undefined || header === '') return undefined;
  if (header === 'incremental feed') return 'latest-version';
  if (header !== 'full-fidelity feed')
    throw new Refusal(400, `The feed ${call.headers['a-im']} is not known.`);
  if (call.headers['x-ms-cosmos-changefeed-wire-format-version'] !== WIRE_FORMAT) {
    throw new Refusal(
      400,
      `All versions and deletes change feed needs the wire format version ${WIRE_FORMAT}.`,
    );
  }
  return 'all-versions';
}

/** GET on documents: a change feed when it says which, else the plain list. */
export function read(call: Call): Reply {
  const mode = modeOf(call);
  if (mode === undefined) return list(call);
  const { account } = call;
  const container = call.container();
  const scope = scopeOf(call, container);
  const range = scope.range ?? (container.ranges.length === 1 ? container.ranges[0] : undefined);
  if (range === undefined) {
    throw new Refusal(
      400,
      'A change feed of several ranges is read range by range: name one, or a partition key.',
    );
  }
  account.admit(container, range, call.priority);
  const seen = visibleLsn(account, range, call.headers['x-ms-session-token']);
  const page = readFeed(account, container, {
    mode,
    range,
    min: scope.min,
    max: scope.max,
    ifNoneMatch: call.headers['if-none-match'],
    ifModifiedSince: call.headers['if-modified-since'],
    maxItems: call.maxItems,
    visibleLsn: seen,
  });
  account.charge(container, range, page.chargeRu, call.priority);
  const headers = {
    etag: page.etag,
    lsn: range.lsn,
    'x-ms-item-count': page.count,
    'x-ms-alt-content-path': container.link,
    'x-ms-content-path': container.rid,
    'x-ms-session-token': sessionToken(range, seen),
  };
  if (page.count === 0) return { status: 304, headers, chargeRu: page.chargeRu };
  const body = Buffer.concat([
    Buffer.from(`{"_rid":"${container.rid}","Documents":[`),
    page.body ?? Buffer.alloc(0),
    Buffer.from(`],"_count":${page.count}}`),
  ]);
  return { status: 200, body, headers, chargeRu: page.chargeRu };
}
