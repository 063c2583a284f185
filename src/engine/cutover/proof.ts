/**
 * Both sides are compared until they hold the same, and what differs is brought right in between. What always holds: a
 * document that was brought right and differs still is never passed over.
 */
import { ChildSignal } from '../../lib/abort.ts';
import { NotReadyError } from '../../lib/errors.ts';
import { group } from '../../lib/group.ts';
import { whyAll } from './gate.ts';
import { step, type Proof, type Scope, type Stopped } from './contract.ts';
import { runLeases, type LeasesParts } from '../leases/run-leases.ts';
import { repairEach } from '../letters/repair.ts';

/**
 * Whether both sides hold the same; what differs is brought right, and then it is asked again. A document that was brought
 * right and differs still is never passed over. Once everything was compared, only what differed is looked at again: nobody
 * writes, and where documents expire others are gone each time.
 */
export async function prove(leases: LeasesParts, parts: Stopped): Promise<boolean> {
  const { context, reading } = leases;
  const brought = new Set<string>();
  let scope: Scope = whyAll(context) === null ? 'changes' : 'all';
  for (;;) {
    step(parts, 'proving');
    const proof = await compare(leases, parts, scope);
    const { equal, suspects, areExtra, isWhole, why } = proof;
    parts.unproven = equal === true ? null : why;
    if (equal !== false) return equal === true;
    const names = suspects.map(({ name }) => JSON.stringify(name));
    if (names.length === 0 || names.some((name) => brought.has(name))) throw unproven(proof);
    const differ =
      names.length === 1 ? 'a document differs and is' : `${names.length} documents differ and are`;
    parts.say(`${differ} brought right`);
    step(parts, 'bringing right');
    await repairEach(context, suspects, reading);
    reading.throwIfAborted();
    const hasOnlyGone = context.expires && areExtra === true;
    if (scope !== 'changes' || isWhole === true) scope = 'what differed';
    else if (hasOnlyGone && brought.size > 0) scope = 'all';
    for (const name of names) brought.add(name);
  }
}

/** How often the tail looks while both sides are compared. */
const TAIL_EVERY_MS = 1000;

/** Nobody writes any more, and still documents expire: what a feed tells of that is brought over meanwhile. */
async function compare(leases: LeasesParts, parts: Stopped, scope: Scope): Promise<Proof> {
  return group(leases.reading, async (members) => {
    using over = new ChildSignal(members.signal);
    const reading = over.signal;
    members.start(async () => {
      while (!reading.aborted) {
        await runLeases('catch-up', { ...leases, reading, look: 'as told' });
        await leases.context.clock.sleep(TAIL_EVERY_MS, reading).catch((error: unknown) => {
          if (!reading.aborted) throw error;
        });
      }
    });
    try {
      return await parts.prove(members.signal, scope);
    } finally {
      over.abort(new Error('both sides were compared'));
    }
  });
}

function unproven({ why }: Proof): NotReadyError {
  return new NotReadyError('both sides do not hold the same', {
    why: `${why}; the source stays in use`,
    hint: 'run cosmig verify, which names the documents, and cosmig verify --repair',
  });
}
