import { describe, expect, test } from 'vitest';
import { offerHistory, changeThroughput } from '../../../../src/emulator/account/catalog.ts';
import {
  minimumRu,
  offerContent,
  rangesFor,
  rangesToCarry,
  requestedThroughput,
  throughputOf,
  type ProvisionedThroughput,
} from '../../../../src/emulator/partitions/offers.ts';
import { finishScaling } from '../../../../src/emulator/partitions/resizing.ts';
import { initialBounds } from '../../../../src/epk/bounds.ts';
import { must } from '../../../../src/lib/assert.ts';
import { MemoryAccount, refusalOf } from '../../../helpers/emulator/memory-account.ts';

const manual = (ru: number): ProvisionedThroughput => ({ mode: 'manual', ru });
const autoscale = (ru: number): ProvisionedThroughput => ({ mode: 'autoscale', ru });
const GB_IN_KB = 1024 * 1024;

describe('what a create asks for', () => {
  const MANUAL = 'x-ms-offer-throughput';
  const AUTOPILOT = 'x-ms-cosmos-offer-autopilot-settings';

  test.each<[Record<string, string>, ProvisionedThroughput | undefined]>([
    [{}, undefined],
    [{ [MANUAL]: '400' }, manual(400)],
    [{ [MANUAL]: '1000000' }, manual(1_000_000)],
    [{ [AUTOPILOT]: '{"maxThroughput":1000}' }, autoscale(1000)],
    [{ [AUTOPILOT]: '{"maxThroughput":1000000,"more":1}' }, autoscale(1_000_000)],
  ])('%j -> %j', (headers, throughput) => {
    expect(requestedThroughput(headers)).toEqual(throughput);
  });

  test.each<[Record<string, string>]>([
    [{ [MANUAL]: '399' }],
    [{ [MANUAL]: '300' }],
    [{ [MANUAL]: '450' }],
    [{ [MANUAL]: '400.5' }],
    [{ [MANUAL]: '-400' }],
    [{ [MANUAL]: '1000100' }],
    [{ [MANUAL]: '' }],
    [{ [MANUAL]: 'x' }],
    [{ [MANUAL]: '1e400' }],
    [{ [AUTOPILOT]: '' }],
    [{ [AUTOPILOT]: '{}' }],
    [{ [AUTOPILOT]: 'null' }],
    [{ [AUTOPILOT]: '1000' }],
    [{ [AUTOPILOT]: '{"maxThroughput":"1000"}' }],
    [{ [AUTOPILOT]: '{"maxThroughput":900}' }],
    [{ [AUTOPILOT]: '{"maxThroughput":1500}' }],
    [{ [AUTOPILOT]: '{"maxThroughput":1001000}' }],
    [{ [MANUAL]: '400', [AUTOPILOT]: '{"maxThroughput":1000}' }],
  ])('%j -> refused', (headers) => {
    expect(refusalOf(() => requestedThroughput(headers))?.status).toBe(400);
  });
});

describe('what a replace asks for', () => {
  test.each<[unknown, ProvisionedThroughput]>([
    [{ offerThroughput: 500 }, manual(500)],
    [{ offerThroughput: 400, offerAutopilotSettings: { maxThroughput: 4000 } }, autoscale(4000)],
    [{ offerThroughput: 500, offerAutopilotSettings: null }, manual(500)],
  ])('%j -> %j', (content, throughput) => {
    expect(throughputOf(content)).toEqual(throughput);
  });

  test.each([
    undefined,
    null,
    [],
    'x',
    {},
    { offerThroughput: '500' },
    { offerThroughput: 450 },
    { offerAutopilotSettings: {} },
  ])('%j -> refused', (content) => {
    expect(refusalOf(() => throughputOf(content))?.status).toBe(400);
  });
});

describe('how many ranges a throughput means', () => {
  test.each<[ProvisionedThroughput, number, number]>([
    // [throughput, at creation (6,000 or 10,000 a range), when raised later (10,000 a range)]
    [manual(400), 1, 1],
    [manual(6000), 1, 1],
    [manual(6100), 2, 1],
    [manual(12_000), 2, 2],
    [manual(12_100), 3, 2],
    [manual(60_000), 10, 6],
    [manual(1_000_000), 167, 100],
    [autoscale(1000), 1, 1],
    [autoscale(10_000), 1, 1],
    [autoscale(11_000), 2, 2],
    [autoscale(1_000_000), 100, 100],
  ])('%j -> %i when created, %i when raised', (throughput, created, carried) => {
    expect([rangesFor(throughput), rangesToCarry(throughput)]).toEqual([created, carried]);
  });
});

describe('the minimum throughput', () => {
  test.each<[ProvisionedThroughput['mode'], number, number, number]>([
    // [mode, highest RU/s ever, GB stored, floor]
    ['manual', 400, 0, 400],
    ['manual', 40_000, 0, 400],
    ['manual', 40_100, 0, 500],
    ['manual', 1_000_000, 0, 10_000],
    ['manual', 400, 400, 400],
    ['manual', 400, 401, 500],
    ['autoscale', 1000, 0, 1000],
    ['autoscale', 10_000, 0, 1000],
    ['autoscale', 11_000, 0, 2000],
    // A load at 250,000 RU/s leaves a floor of 25,000 behind.
    ['autoscale', 250_000, 0, 25_000],
    ['autoscale', 1000, 100, 1000],
    ['autoscale', 1000, 101, 2000],
  ])('%s after %i RU/s with %i GB -> %i', (mode, peakRu, gb, floor) => {
    expect(minimumRu(mode, { peakRu, storedKb: gb * GB_IN_KB })).toBe(floor);
  });

  test('every peak -> exact', () => {
    for (let peakRu = 400; peakRu <= 1_000_000; peakRu += 100) {
      const exact = [
        Math.max(4, Math.ceil(peakRu / 10_000)) * 100,
        Math.max(1, Math.ceil(peakRu / 10_000)) * 1000,
      ];
      expect([
        minimumRu('manual', { peakRu, storedKb: 0 }),
        minimumRu('autoscale', { peakRu, storedKb: 0 }),
      ]).toEqual(exact);
    }
  });
});

describe('the content of an offer', () => {
  const history = { peakRu: 5000, storedKb: 1.2 };
  const past = {
    offerMinimumThroughputParameters: { maxThroughputEverProvisioned: 5000, maxConsumedStorageEverInKB: 2 },
  };

  test('sent back as it was read -> the same throughput', () => {
    for (const throughput of [manual(500), autoscale(4000)]) {
      expect(throughputOf(offerContent(throughput, history, false))).toEqual(throughput);
      expect(offerContent(throughput, history, false)).toMatchObject(past);
    }
  });

  test('autoscale -> a tenth and the maximum', () => {
    expect(offerContent(autoscale(4000), history, false)).toMatchObject({
      offerThroughput: 400,
      offerAutopilotSettings: { maxThroughput: 4000 },
    });
  });
});

describe('an offer', () => {
  const offerOf = (memory: MemoryAccount) => must([...memory.account.offers.values()][0], 'one offer');

  test('a peak -> the minimum follows from it', () => {
    using memory = new MemoryAccount();
    memory.container({}, manual(400));
    const offer = offerOf(memory);
    changeThroughput(memory.account, offer, manual(100_000));
    memory.clock.advance(memory.account.settings.scaleUpMs);
    finishScaling(memory.account);
    changeThroughput(memory.account, offer, manual(1000));
    expect(refusalOf(() => changeThroughput(memory.account, offer, manual(900)))?.status).toBe(400);
    expect(offerHistory(memory.account, offer).peakRu).toBe(100_000);
    // Changing over to autoscale has a floor of its own.
    expect(refusalOf(() => changeThroughput(memory.account, offer, autoscale(9000)))?.status).toBe(400);
    changeThroughput(memory.account, offer, autoscale(10_000));
    expect(offer.throughput).toEqual(autoscale(10_000));
  });

  test('stored documents -> counted', () => {
    using memory = new MemoryAccount();
    const container = memory.container({}, manual(400));
    memory.write(container, { id: 'a', more: { text: 'x'.repeat(10_000) } });
    expect(offerHistory(memory.account, offerOf(memory)).storedKb).toBeCloseTo(container.bytes / 1024);
  });

  test('raised beyond what its ranges carry -> more ranges after a while, permanently', () => {
    using memory = new MemoryAccount({ scaleUpMs: 500 });
    const container = memory.container({}, manual(400));
    for (let number = 0; number < 40; number += 1)
      memory.write(container, { id: `${number}`, key: `k${number}` });
    const offer = offerOf(memory);
    changeThroughput(memory.account, offer, manual(10_000));
    expect(offer.pendingUntilMs).toBeUndefined();
    changeThroughput(memory.account, offer, manual(30_000));
    // The present range gives what one range can.
    expect(memory.account.rangeBudget(container)).toBe(10_000);
    memory.clock.advance(499);
    finishScaling(memory.account);
    expect([container.ranges.length, offer.pendingUntilMs !== undefined]).toEqual([1, true]);
    memory.clock.advance(1);
    finishScaling(memory.account);
    expect([container.ranges.length, offer.pendingUntilMs, container.documents]).toEqual([3, undefined, 40]);
    changeThroughput(memory.account, offer, manual(400));
    finishScaling(memory.account);
    expect(container.ranges).toHaveLength(3);
    expect(memory.account.rangeBudget(container)).toBeCloseTo(400 / 3);
  });

  test.each([
    [{ paths: ['/pk'], kind: 'Hash' }],
    [{ paths: ['/pk'], kind: 'Hash', version: 2 }],
    [{ paths: ['/pk', '/user'], kind: 'MultiHash', version: 2 }],
  ])('the new ranges under %j -> equally wide', (partitionKey) => {
    using memory = new MemoryAccount({ scaleUpMs: 0 });
    const container = memory.container({ partitionKey }, manual(400));
    changeThroughput(memory.account, offerOf(memory), manual(80_000));
    finishScaling(memory.account);
    // Made with that many from the start, it would have the same: bounds apart by the rounding of a hash or two.
    const near = (bound: string): string => bound.slice(0, 10);
    expect(container.ranges.map(({ min }) => near(min))).toEqual(
      initialBounds(container.definition.kind, 8).slice(0, -1).map(near),
    );
  });
});
