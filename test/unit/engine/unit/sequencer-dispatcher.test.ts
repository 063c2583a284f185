/**
 * Sequencer and dispatcher together, as the apply rule uses them: a document's move is a write, its outcome, and a removal,
 * under the locks of the identity and both slots. The target watches what comes in.
 */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { OperationEnd, OperationResult } from '../../../../src/cosmos/bulk/operation.ts';
import { Sequencer } from '../../../../src/engine/unit/sequencer.ts';
import { Lab, refused, settled, throttled, type Request } from '../../cosmos/bulk/dispatcher-lab.ts';
import { draws } from '../../../helpers/generated.ts';

interface Sent {
  readonly id: number;
  readonly slot: number;
  readonly event: number;
}

const DOCUMENTS = 5;
const SLOTS = 8;

const hash = (number: number): number[] => [number & 1, number, 3, 4];

test('pipeline: random events -> one operation in flight per document and slot, in the order of each document', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), async (seed) => {
      const lab = new Lab({ seed });
      lab.known = lab.actual = [0, 16, 32, 48];
      const { random, dispatcher } = lab;
      const sequencer = new Sequencer({ waitingMax: 20 });
      const { signal } = lab.stop;
      const run = dispatcher.run(signal);
      const sent = new Map<number, Sent>();

      const write = async (what: Sent): Promise<OperationEnd<number>> =>
        new Promise((resolve) => {
          const operation = lab.operation(what.slot * 8, resolve);
          sent.set(lab.added, what);
          dispatcher.add(operation);
        });
      const slots = Array.from({ length: DOCUMENTS }, () => 0);
      const apply = async (id: number, event: number): Promise<void> => {
        let slot = random.below(SLOTS);
        while (!sequencer.mayEnter) await sequencer.untilMayEnter(signal);
        const namesOf = (): Uint32Array => Uint32Array.from([id, slot, slots[id] ?? 0].flatMap(hash));
        const held = (names: Uint32Array): boolean => names.join() === namesOf().join();
        let names = namesOf();
        const turn = sequencer.enter(names, 3);
        await sequencer.ready(turn, signal);
        // Sometimes a point read names another slot; and the row may have moved while we waited.
        if (random.below(4) === 0) slot = random.below(SLOTS);
        while (!held(names)) {
          names = namesOf();
          sequencer.again(turn, names, 3);
          await sequencer.ready(turn, signal);
        }
        const old = slots[id] ?? 0;
        await write({ id, slot, event });
        if (old !== slot) await write({ id, slot: old, event });
        slots[id] = slot;
        sequencer.release(turn);
      };

      const open: Request[] = [];
      const busy = new Set<string>();
      const wrong: string[] = [];
      const done: Sent[] = [];
      const namesOf = (number: number): string[] => {
        const { id, slot } = sent.get(number) ?? { id: -1, slot: -1 };
        return [`id ${id}`, `slot ${slot}`];
      };
      const collect = (): void => {
        for (const request of lab.requests.splice(0)) {
          for (const name of request.numbers.flatMap(namesOf)) {
            if (busy.has(name)) wrong.push(`${name} twice`);
            busy.add(name);
          }
          open.push(request);
        }
      };
      const answer = (request: Request): void => {
        const gone = !lab.isThere(request.range);
        const results = request.numbers.map((number): OperationResult<number> => {
          for (const name of namesOf(number)) busy.delete(name);
          if (gone) return refused('split');
          if (random.below(6) === 0) return throttled(random.below(30));
          done.push(sent.get(number) as Sent);
          return random.below(8) === 0 ? { is: 'ambiguous' } : { is: 'done', value: number };
        });
        request.reply({ chargeRu: 1, results });
      };

      const finished: number[] = [];
      const tasks = Array.from({ length: 60 }, async (_, event) => {
        await apply(event % DOCUMENTS, event);
        finished.push(event);
      });
      for (let steps = 0; finished.length < 60; steps += 1) {
        await lab.advance(random.below(20));
        collect();
        if (open.length > 0) answer(open.splice(random.below(open.length), 1)[0] as Request);
        if (steps === 20) lab.actual = [0, 8, 16, 32, 48, 56];
        expect(steps).toBeLessThan(3000);
      }
      await Promise.all(tasks);
      dispatcher.drain();
      await run;
      await settled();
      expect(wrong).toEqual([]);
      expect([sequencer.holding, sequencer.waiting, dispatcher.unfinished, lab.timers]).toEqual([0, 0, 0, 0]);
      expect(done).toHaveLength(sent.size);
      // One event's operations stand together: nothing of the same document came in between.
      for (let id = 0; id < DOCUMENTS; id += 1) {
        const events = done.filter((one) => one.id === id).map(({ event }) => event);
        const runs = events.filter((event, i) => event !== events[i - 1]);
        expect(new Set(runs).size).toBe(runs.length);
      }
    }),
    { numRuns: draws(15) },
  );
});
