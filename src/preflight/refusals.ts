/** What can never work, found before anything is written, each with what to do instead. */
import type { ContainerFacts } from '../cosmos/container/inspect.ts';
import type { ContainerLane } from '../cosmos/transport/container-requests.ts';
import { LedgerError, NotReadyError, UsageError } from '../lib/errors.ts';
import { isSamePath, parsePath } from '../keys/path.ts';
import type { KeyPlan } from '../keys/plan.ts';
import type { RekeyOptions } from '../keys/rekey.ts';
import { containerMissing } from '../spec/refusals.ts';
import type { MigrationSpec, Place } from '../spec/migration-spec.ts';
import { occupantsOf, type Asking } from './occupied.ts';

export const CREATE_HINT =
  'add --create-target to make it like the source with the new key, or make it yourself';

export function missing(
  side: 'source' | 'target',
  { database, container }: Place,
  hint: string,
): NotReadyError {
  return containerMissing(`${side} container ${database}/${container}`, {
    why: 'the account has no container, or no database, of this name',
    hint,
  });
}

/** One container may have two endpoints; its `_rid` and the state of its definition are the same behind both. */
export function refuseSame(
  source: ContainerFacts,
  target: ContainerFacts,
  { target: place }: MigrationSpec,
): void {
  const [one, other] = [source.account.id, target.account.id];
  // Who may not read an account does not know its name; two accounts do not make the same etag.
  const isSameAccount = one === other || one === null || other === null;
  const isSame = isSameAccount && source.rid === target.rid && source.etag === target.etag;
  if (!isSame) return;
  throw new UsageError(`source and target are the same container, ${place.database}/${place.container}`, {
    why: `its _rid is ${source.rid} behind both endpoints, and a container keeps its partition key`,
    hint: 'name another target, and --create-target if there is none yet',
  });
}

export function refuseOtherKey({ keyPaths }: ContainerFacts, plan: KeyPlan, spec: MigrationSpec): void {
  const there = keyPaths.map(parsePath);
  const isSame =
    there.length === plan.targetPaths.length &&
    plan.targetPaths.every((path, level) => isSamePath(path, there[level] ?? []));
  if (isSame) return;
  throw new NotReadyError(
    `the target ${spec.target.database}/${spec.target.container} has the partition key ${keyPaths.join(', ')}, not ${spec.partitionKey.join(', ')}`,
    {
      why: 'the partition key of a container is fixed when it is made',
      hint: `name another --target, with --create-target if there is none yet, or say --partition-key ${keyPaths.join(' --partition-key ')}`,
    },
  );
}

export async function refuseOccupied(
  parts: {
    readonly spec: MigrationSpec;
    readonly source: ContainerLane;
    readonly sourceFacts: ContainerFacts;
    readonly target: ContainerLane;
    readonly rekey: RekeyOptions;
  },
  call: Asking,
): Promise<void> {
  const { spec, source, target, sourceFacts, rekey } = parts;
  const { seen, ours } = await occupantsOf(
    { source, target, sourceKind: sourceFacts.keyKind, rekey },
    { ...call, patience: call.patience.fresh() },
  );
  if (seen === 0) return;
  const name = `${spec.target.database}/${spec.target.container}`;
  if (ours > 0) {
    throw new LedgerError(`the target ${name} was being filled, and its ledger is not at ${spec.ledger}`, {
      why: `${ours} of ${seen} documents looked at are copies of source documents in the place that they should have; without the ledger nobody knows which changes and deletes are missing`,
      hint: 'name the ledger of that run with --ledger, or run where it was run; or empty the target and begin anew',
      details: { seen, ours },
    });
  }
  throw new NotReadyError(`the target ${name} holds documents already`, {
    why: 'a migration begins with an empty target, and what was looked at is no copy of source documents',
    hint: 'name another target, or empty this one',
    details: { seen, ours },
  });
}
