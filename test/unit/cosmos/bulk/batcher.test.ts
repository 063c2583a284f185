import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { OPERATIONS_MAX } from '../../../../src/cosmos/bulk/batch-request.ts';
import { BODY_BYTES_MAX, Batcher, RequestBodies, type Batch } from '../../../../src/cosmos/bulk/batcher.ts';
import { madeText, type OperationText } from '../../../../src/cosmos/bulk/operation.ts';
import { VirtualClock } from '../../../helpers/clock.ts';
import { draws } from '../../../helpers/generated.ts';
import { TextRun } from './text-run.ts';

interface Numbered extends OperationText {
  readonly number: number;
  readonly hasBegun: boolean;
}

function operation(number: number, sizeBytes = 20, hasBegun = false): Numbered {
  const text = JSON.stringify({ n: number, fill: '' });
  const bytes = Buffer.from(`${text.slice(0, -2)}${'x'.repeat(Math.max(0, sizeBytes - text.length))}"}`);
  return { number, hasBegun, ...madeText(bytes) };
}

function batcher(): { clock: VirtualClock; batches: Batcher<Numbered> } {
  const clock = new VirtualClock();
  return { clock, batches: new Batcher<Numbered>(clock) };
}

const numbersOf = (batch: Batch<Numbered> | undefined): number[] | undefined =>
  batch?.operations.map(({ number }) => number);

describe('batcher', () => {
  test('an idle range -> leaves at once; a busy range -> leaves after a moment', () => {
    const { clock, batches } = batcher();
    batches.add(operation(1));
    clock.advance(3);
    batches.add(operation(2));
    expect(batches.next('busy')).toBeUndefined();
    expect(batches.dueMs).toBe(clock.monotonicMs() + 2);
    clock.advance(2);
    expect(numbersOf(batches.next('busy'))).toEqual([1, 2]);
    expect(batches.dueMs).toBeUndefined();
    batches.add(operation(3));
    expect(numbersOf(batches.next('idle'))).toEqual([3]);
    expect([batches.next('idle'), batches.size]).toEqual([undefined, 0]);
  });

  test('OPERATIONS_MAX operations -> sealed', () => {
    const { batches } = batcher();
    for (let i = 0; i < OPERATIONS_MAX + 1; i += 1) batches.add(operation(i));
    expect(batches.next('busy')?.operations).toHaveLength(OPERATIONS_MAX);
    expect(batches.next('busy')).toBeUndefined();
  });

  test('BODY_BYTES_MAX bytes -> sealed, exact to the byte', () => {
    const { batches } = batcher();
    batches.add(operation(1, BODY_BYTES_MAX / 2 - 2));
    batches.add(operation(2, BODY_BYTES_MAX / 2 - 1));
    const full = batches.next('busy');
    expect([full?.sizeBytes, numbersOf(full)]).toEqual([BODY_BYTES_MAX, [1, 2]]);
    batches.add(operation(3, BODY_BYTES_MAX / 2 - 1));
    batches.add(operation(4, BODY_BYTES_MAX / 2 - 1));
    expect(numbersOf(batches.next('busy'))).toEqual([3]);
  });

  test('an operation larger than a batch -> travels alone', () => {
    const { batches } = batcher();
    batches.add(operation(1));
    batches.add(operation(2, BODY_BYTES_MAX * 3));
    batches.add(operation(3));
    expect([1, 2].map(() => numbersOf(batches.next('busy')))).toEqual([[1], [2]]);
    expect(numbersOf(batches.next('idle'))).toEqual([3]);
  });

  test('operations that were put back -> leave first', () => {
    const { batches } = batcher();
    for (let i = 0; i < 5; i += 1) batches.add(operation(i));
    const batch = batches.next('idle');
    batches.add(operation(9));
    batches.putBack(batch?.operations.slice(2) ?? []);
    batches.putBack(batch?.operations.slice(0, 1) ?? []);
    expect(numbersOf(batches.next('busy'))).toEqual([0, 2, 3, 4]);
    expect(batches.takeAll().map(({ number }) => number)).toEqual([9]);
    expect([batches.size, batches.isReady('idle')]).toEqual([0, false]);
  });
});

test('batcher: operations of documents that have begun -> leave behind those put back, and before all others', () => {
  const { batches } = batcher();
  for (let i = 0; i < 3; i += 1) batches.add(operation(i));
  const batch = batches.next('idle');
  for (let i = 3; i < 6; i += 1) batches.add(operation(i));
  batches.add(operation(7, 20, true));
  batches.putBack(batch?.operations.slice(2) ?? []);
  batches.add(operation(8, 20, true));
  // What was put back leaves at once, and takes along what has begun.
  expect(numbersOf(batches.next('busy'))).toEqual([2, 7]);
  expect(numbersOf(batches.next('idle', 2))).toEqual([8, 3]);
  expect(batches.takeAll().map(({ number }) => number)).toEqual([4, 5]);
});

test('batcher: random operations and refusals -> each leaves once, in order, within the limits, as valid JSON', () => {
  const steps = fc.array(
    fc.record({
      sizeBytes: fc.oneof(fc.nat(2000), fc.nat(60_000), fc.nat(BODY_BYTES_MAX * 2)),
      waitMs: fc.nat(3),
      takes: fc.constantFrom('idle', 'busy', 'nothing'),
      most: fc.constantFrom(OPERATIONS_MAX, 7, 1),
      refused: fc.nat(3),
      hasBegun: fc.boolean(),
    }),
    { maxLength: 200 },
  );
  const bodies = new RequestBodies();
  fc.assert(
    fc.property(steps, (all) => {
      const { clock, batches } = batcher();
      const out: number[] = [];
      const [first, others]: [number[], number[]] = [[], []];
      const check = (batch: Batch<Numbered>): void => {
        const { operations, sizeBytes } = batch;
        const { bytes: body, free } = bodies.make(batch);
        const parsed = JSON.parse(Buffer.from(body).toString()) as { n: number }[];
        expect(parsed.map(({ n }) => n)).toEqual(numbersOf(batch));
        expect(body).toHaveLength(sizeBytes);
        free();
        expect(operations.length).toBeLessThanOrEqual(OPERATIONS_MAX);
        expect(operations.length === 1 || sizeBytes <= BODY_BYTES_MAX).toBe(true);
      };
      /** What leaves next: those that were put back, those that have begun, and the others. */
      const leave = (count: number): number[] => {
        const left = first.splice(0, count);
        return [...left, ...others.splice(0, count - left.length)];
      };
      for (const [number, { sizeBytes, waitMs, takes, most, refused, hasBegun }] of all.entries()) {
        clock.advance(waitMs);
        batches.add(operation(number, sizeBytes, hasBegun));
        (hasBegun ? first : others).push(number);
        const batch = takes === 'nothing' ? undefined : batches.next(takes, most);
        if (batch === undefined) continue;
        check(batch);
        expect(batch.operations.length).toBeLessThanOrEqual(most);
        const done = batch.operations.slice(0, Math.max(0, batch.operations.length - refused));
        batches.putBack(batch.operations.slice(done.length));
        const left = leave(batch.operations.length);
        expect(numbersOf(batch)).toEqual(left);
        first.unshift(...left.slice(done.length));
        out.push(...left.slice(0, done.length));
      }
      expect(batches.size).toBe(first.length + others.length);
      expect(new Set(out).size).toBe(out.length);
      for (let batch = batches.next('idle'); batch !== undefined; batch = batches.next('idle')) {
        check(batch);
        expect(numbersOf(batch)).toEqual(leave(batch.operations.length));
      }
      expect([batches.size, first.length, others.length]).toEqual([0, 0, 0]);
    }),
    { numRuns: draws(60) },
  );
});

test('batcher: runs -> the same batches as their operations one by one', () => {
  const steps = fc.array(
    fc.record({
      sizes: fc.array(fc.oneof(fc.nat(3000), fc.nat(BODY_BYTES_MAX + 9)), { minLength: 1, maxLength: 260 }),
      isRun: fc.boolean(),
      waitMs: fc.nat(3),
      takes: fc.array(fc.constantFrom('idle', 'busy'), { maxLength: 4 }),
      most: fc.constantFrom(OPERATIONS_MAX, 30),
      refused: fc.nat(3),
    }),
    { maxLength: 12 },
  );
  const bodies = new RequestBodies();
  const seen = (batch: Batch<Numbered> | undefined): unknown => {
    if (batch === undefined) return undefined;
    const { bytes, free } = bodies.make(batch);
    const body = Buffer.from(bytes).toString('latin1');
    free();
    return { body, numbers: numbersOf(batch), sizeBytes: batch.sizeBytes, count: batch.count };
  };
  fc.assert(
    fc.property(steps, (all) => {
      const [one, other] = [batcher(), batcher()];
      let number = 0;
      for (const { sizes, isRun, waitMs, takes, most, refused } of all) {
        one.clock.advance(waitMs);
        other.clock.advance(waitMs);
        const operations = sizes.map((sizeBytes) => operation((number += 1), sizeBytes));
        if (isRun) one.batches.addRun(new TextRun(operations));
        else for (const single of operations) one.batches.add(single);
        for (const single of operations) other.batches.add(single);
        for (const pace of takes) {
          const [batch, same] = [one.batches.next(pace, most), other.batches.next(pace, most)];
          expect(seen(batch)).toEqual(seen(same));
          // Refused operations of a run come back one by one.
          if (batch !== undefined) one.batches.putBack(batch.operations.slice(-refused - 1));
          if (same !== undefined) other.batches.putBack(same.operations.slice(-refused - 1));
        }
        expect([one.batches.size, one.batches.dueMs]).toEqual([other.batches.size, other.batches.dueMs]);
      }
      expect(one.batches.takeAll().map((single) => single.number)).toEqual(
        other.batches.takeAll().map((single) => single.number),
      );
    }),
    { numRuns: draws(60) },
  );
});

test('batcher: only runs -> known as such', () => {
  const { batches } = batcher();
  const run = (...numbers: number[]): TextRun<Numbered> => new TextRun(numbers.map((n) => operation(n)));
  batches.addRun(run(1, 2));
  batches.addRun(run(3));
  expect(batches.next('idle')?.onlyRuns?.map(({ count }) => count)).toEqual([2, 1]);
  batches.addRun(run(4, 5));
  batches.add(operation(6));
  const mixed = batches.next('idle');
  expect([mixed?.onlyRuns, mixed?.singles.length, mixed?.count]).toEqual([undefined, 1, 3]);
});
