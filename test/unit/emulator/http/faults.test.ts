import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type FaultTarget, Faults } from '../../../../src/emulator/http/faults.ts';
import { Refusal } from '../../../../src/emulator/http/refusal.ts';

const CREATE: FaultTarget = { op: 'create', db: 'D', coll: 'C', rangeId: '0' };
const THROTTLE = { status: 429, substatus: 3200, retryAfterMs: 5 };

function faultsOf(...rules: readonly unknown[]): Faults {
  const faults = new Faults();
  faults.set({ seed: 7, rules });
  return faults;
}

/** One letter a request: x where the fault struck. */
function strikes(faults: Faults, requests: number, target = CREATE): string {
  return Array.from({ length: requests }, () => (faults.strike(target) === undefined ? '.' : 'x')).join('');
}

function messageOf(plan: unknown): string {
  try {
    new Faults().set(plan);
  } catch (error) {
    if (error instanceof Refusal && error.status === 400) return error.message;
    throw error;
  }
  return 'accepted';
}

describe('what a rule matches', () => {
  test.each([
    [{}, true],
    [{ op: 'create' }, true],
    [{ op: 'upsert' }, false],
    [{ db: 'D', coll: 'C' }, true],
    [{ db: 'D', coll: 'c' }, false],
    [{ op: 'create', rangeId: '0' }, true],
    [{ op: 'create', rangeId: '1' }, false],
  ])('%j -> %s', (match, hit) => {
    expect(faultsOf({ match, effect: THROTTLE }).strike(CREATE)).toEqual(hit ? THROTTLE : undefined);
  });

  test('a rule for a range -> requests without a range do not match', () => {
    const faults = faultsOf({ match: { rangeId: '0' }, effect: THROTTLE });
    expect(faults.strike({ op: 'account' })).toBeUndefined();
  });

  test('no match -> every request matches', () => {
    expect(faultsOf({ effect: { reset: 'after' } }).strike({ op: 'script' })).toEqual({ reset: 'after' });
  });
});

describe('when a rule fires', () => {
  test.each([
    [{}, 'xxxxxxxxxxxx'],
    [{ every: 3 }, '..x..x..x..x'],
    [{ times: 2 }, 'xx..........'],
    [{ after: 4 }, '....xxxxxxxx'],
    [{ after: 4, times: 1 }, '....x.......'],
    [{ after: 1, every: 3, times: 2 }, '...x..x.....'],
    [{ probability: 0 }, '............'],
    [{ probability: 1 }, 'xxxxxxxxxxxx'],
  ])('%j -> %s', (when, expected) => {
    expect(strikes(faultsOf({ match: {}, ...when, effect: THROTTLE }), expected.length)).toBe(expected);
  });

  test('a probability -> about that share, and the same for the same seed', () => {
    const rule = { match: {}, probability: 0.2, effect: THROTTLE };
    const first = strikes(faultsOf(rule), 10_000);
    const hits = first.replaceAll('.', '').length;
    expect(hits).toBeGreaterThan(1_800);
    expect(hits).toBeLessThan(2_200);
    expect(strikes(faultsOf(rule), 10_000)).toBe(first);
    const other = new Faults();
    other.set({ seed: 8, rules: [rule] });
    expect(strikes(other, 10_000)).not.toBe(first);
  });

  test('two rules with the same probability -> independent', () => {
    const rule = { probability: 0.5, effect: THROTTLE };
    const faults = faultsOf({ match: { op: 'create' }, ...rule }, { match: { op: 'read' }, ...rule });
    expect(strikes(faults, 200)).not.toBe(strikes(faults, 200, { op: 'read' }));
  });

  test('traffic that another rule sees -> no effect on this one', () => {
    const [creates, reads] = ['create', 'read'].map((op) => ({
      match: { op },
      probability: 0.5,
      effect: THROTTLE,
    }));
    const quiet = faultsOf(creates, reads);
    const busy = faultsOf(creates, reads);
    strikes(busy, 50, { op: 'read' });
    expect(strikes(busy, 100)).toBe(strikes(quiet, 100));
  });

  test('several rules -> the first that fires applies, later ones do not count the request', () => {
    const gone = { status: 410, substatus: 1002 };
    const faults = faultsOf(
      { match: { op: 'create' }, every: 2, effect: THROTTLE },
      { match: {}, effect: gone },
    );
    expect([faults.strike(CREATE), faults.strike(CREATE), faults.strike({ op: 'read' })]).toEqual([
      gone,
      THROTTLE,
      gone,
    ]);
    expect(faults.state()).toEqual({
      seed: 7,
      rules: [
        { every: 2, match: { op: 'create' }, effect: THROTTLE, matched: 2, fired: 1 },
        { match: {}, effect: gone, matched: 2, fired: 2 },
      ],
    });
  });
});

test('an operation of a bulk request -> only rules with a status see it', () => {
  const faults = faultsOf(
    { match: { coll: 'C' }, times: 1, effect: { reset: 'after' } },
    { match: { op: 'create' }, effect: THROTTLE },
  );
  expect([faults.strikeOperation(CREATE), faults.strike(CREATE)]).toEqual([THROTTLE, { reset: 'after' }]);
  expect(faults.state().rules.map(({ matched, fired }) => [matched, fired])).toEqual([
    [1, 1],
    [1, 1],
  ]);
});

describe('the plan', () => {
  test('set and cleared -> empty, replaced as a whole, empty', () => {
    const faults = new Faults();
    expect([faults.active, faults.strike(CREATE), faults.state()]).toEqual([
      false,
      undefined,
      { seed: 0, rules: [] },
    ]);
    faults.set({ seed: 3, rules: [{ match: {}, effect: THROTTLE }] });
    expect([faults.active, faults.state().seed]).toEqual([true, 3]);
    faults.set({ rules: [{ match: {}, effect: { delayMs: 5 } }] });
    expect(faults.strike(CREATE)).toEqual({ delayMs: 5 });
    faults.clear();
    expect([faults.active, faults.state()]).toEqual([false, { seed: 0, rules: [] }]);
  });

  test('an invalid plan -> the old one and its counts stay', () => {
    const faults = faultsOf({ match: {}, effect: THROTTLE });
    faults.strike(CREATE);
    expect(() => faults.set({ rules: [{ effect: {} }] })).toThrow(Refusal);
    expect(faults.state().rules[0]?.fired).toBe(1);
  });

  test('every effect -> accepted', () => {
    const effects = [
      { status: 429, substatus: 3200, retryAfterMs: 12, message: 'slow down' },
      { delayMs: 10, delayAt: 'after', dropHeaders: ['etag'] },
      { reset: 'before' },
      { hang: 'after' },
      { status: 503, body: 'html' },
      { body: 'truncated' },
      { pkranges: 'stale' },
    ];
    const faults = faultsOf(...effects.map((effect) => ({ match: {}, times: 1, effect })));
    expect(effects.map(() => faults.strike(CREATE))).toEqual(effects);
  });

  test('header names in any case -> stored in lower case', () => {
    const faults = faultsOf({ effect: { dropHeaders: ['ETag', 'x-ms-Request-Charge'] } });
    expect(faults.strike(CREATE)).toEqual({ dropHeaders: ['etag', 'x-ms-request-charge'] });
  });

  const rule = (fields: object): object => ({ rules: [{ match: {}, effect: { status: 503 }, ...fields }] });
  const effect = (fields: object): object => rule({ effect: fields });
  test.each([
    [null, 'faults must be an object'],
    [[], 'faults must be an object'],
    ['storm', 'faults must be an object'],
    [{ seed: 1 }, 'faults.rules is missing'],
    [{ rules: {} }, 'faults.rules must be an array'],
    [{ rules: [], speed: 1 }, 'faults.speed is unknown; known are seed, rules'],
    [{ seed: -1, rules: [] }, 'faults.seed must be a whole number from 0 to 4294967295'],
    [{ rules: [7] }, 'faults.rules[0] must be an object'],
    [{ rules: [{ match: {} }] }, 'faults.rules[0].effect is missing'],
    [rule({ sometimes: true }), 'faults.rules[0].sometimes is unknown'],
    [rule({ match: null }), 'faults.rules[0].match must be an object'],
    [rule({ match: { op: 'feed' } }), 'faults.rules[0].match.op must be one of read-feed, batch,'],
    [rule({ match: { rangeId: 0 } }), 'faults.rules[0].match.rangeId must be a string'],
    [rule({ match: { range: '0' } }), 'faults.rules[0].match.range is unknown'],
    [rule({ every: 0 }), 'faults.rules[0].every must be a whole number from 1'],
    [rule({ every: 1.5 }), 'faults.rules[0].every must be a whole number'],
    [rule({ probability: 2 }), 'faults.rules[0].probability must be a number from 0 to 1'],
    [rule({ times: '3' }), 'faults.rules[0].times must be a whole number'],
    [rule({ after: -1 }), 'faults.rules[0].after must be a whole number'],
    [effect({}), 'faults.rules[0].effect is empty'],
    [effect({ status: 99 }), 'faults.rules[0].effect.status must be a whole number from 200 to 599'],
    [effect({ substatus: 1002 }), 'faults.rules[0].effect.substatus needs status'],
    [effect({ retryAfterMs: 1 }), 'faults.rules[0].effect.retryAfterMs needs status'],
    [effect({ delayAt: 'after' }), 'faults.rules[0].effect.delayAt needs delayMs'],
    [effect({ delayMs: 1, delayAt: 'never' }), 'faults.rules[0].effect.delayAt must be one of'],
    [effect({ delayMs: 1e12 }), 'faults.rules[0].effect.delayMs must be a whole number'],
    [effect({ reset: true }), 'faults.rules[0].effect.reset must be one of before, after'],
    [effect({ reset: 'after', hang: 'after' }), 'faults.rules[0].effect.hang cannot be combined with reset'],
    [effect({ dateOffMs: 1.5 }), 'faults.rules[0].effect.dateOffMs must be a whole number'],
    [effect({ dropHeaders: 'etag' }), 'faults.rules[0].effect.dropHeaders must be an array'],
    [effect({ dropHeaders: ['etag', 1] }), 'faults.rules[0].effect.dropHeaders[1] must be a string'],
    [effect({ constructor: 1 }), 'faults.rules[0].effect.constructor is unknown'],
    [
      { rules: Array.from({ length: 1001 }, () => ({ effect: { status: 503 } })) },
      'faults.rules must have at most',
    ],
  ])('%j -> refused by name', (plan, message) => {
    expect(messageOf(plan)).toContain(message);
  });

  test('a field __proto__ -> unknown', () => {
    const plan: unknown = JSON.parse(
      '{"rules":[{"match":{"__proto__":{"op":"read"}},"effect":{"status":503}}]}',
    );
    expect(messageOf(plan)).toContain('__proto__ is unknown');
  });

  test('any JSON -> a plan or a 400', () => {
    const any = fc.jsonValue();
    const almost = any.map((value) => ({ rules: [{ match: value, effect: value }] }));
    const field = fc.constantFrom('status', 'delayMs', 'reset', 'dropHeaders', 'message');
    const closer = fc.dictionary(field, any).map((effect) => ({ rules: [{ effect }] }));
    fc.assert(
      fc.property(fc.oneof(any, almost, closer), (plan) => {
        expect(messageOf(plan)).not.toBe('');
      }),
    );
  });
});
