/** Refuses settings that can never work, before anything is written. Each refusal names an alternative. */
import type { ContainerFacts } from '../cosmos/container/inspect.ts';
import type { SideParts } from '../cosmos/side.ts';
import type { ContainerRequests } from '../cosmos/transport/container-requests.ts';
import { LedgerError, NotReadyError, UsageError } from '../lib/errors.ts';
import { isSamePath, parsePath } from '../keys/path.ts';
import type { MovePlan } from '../keys/move-plan.ts';
import type { RekeyOptions } from '../keys/rekey.ts';
import type { MigrationSpec } from '../spec/migration-spec.ts';
import { occupantsOf, type Asking } from './occupied.ts';

export const SOURCE_HINT = 'check --source, and that the endpoint belongs to its account';
export const CREATE_HINT =
  'add --create-target to create it like the source with the new key, or create it yourself';

/**
 * Refuses a target that is the same container as the source. One account may have two endpoints, so the endpoints may
 * differ; the `_rid` and the etag of the container are the same behind both.
 */
export function refuseSame(
  source: ContainerFacts,
  target: ContainerFacts,
  { target: address }: MigrationSpec,
): void {
  const [one, other] = [source.account.id, target.account.id];
  // The name of an account is unknown without permission to read it. Containers of two accounts never have the same
  // etag.
  const isSameAccount = one === other || one === null || other === null;
  const isSame = isSameAccount && source.rid === target.rid && source.etag === target.etag;
  if (!isSame) return;
  throw new UsageError(`source and target are the same container, ${address.database}/${address.container}`, {
    why: `its _rid is ${source.rid} behind both endpoints, and a container keeps its partition key`,
    hint: 'choose another target, and add --create-target if it does not exist yet',
  });
}

export function refuseOtherKey({ keyPaths }: ContainerFacts, plan: MovePlan, spec: MigrationSpec): void {
  const there = keyPaths.map(parsePath);
  const isSame =
    there.length === plan.targetPaths.length &&
    plan.targetPaths.every((path, level) => isSamePath(path, there[level] ?? []));
  if (isSame) return;
  throw new NotReadyError(
    `the target ${spec.target.database}/${spec.target.container} has the partition key ${keyPaths.join(', ')}, not ${spec.partitionKey.join(', ')}`,
    {
      why: 'the partition key of a container is fixed when it is created',
      hint: `choose another --target, with --create-target if it does not exist yet, or use --partition-key ${keyPaths.join(' --partition-key ')}`,
    },
  );
}

export async function refuseOccupied(
  parts: {
    readonly spec: MigrationSpec;
    readonly source: Pick<SideParts, 'account' | 'facts'>;
    readonly target: ContainerRequests;
    readonly rekey: RekeyOptions;
  },
  call: Asking,
): Promise<void> {
  const { spec } = parts;
  const { seen, ours } = await occupantsOf(parts, call);
  if (seen === 0) return;
  const name = `${spec.target.database}/${spec.target.container}`;
  if (ours > 0) {
    throw new LedgerError(`the target ${name} belongs to a migration whose ledger is not at ${spec.ledger}`, {
      why: `${ours} of ${seen} documents checked are copies of source documents under the new key; without the ledger it is not known which changes and deletes are missing`,
      hint: 'pass the ledger of that run with --ledger, or run where it was run; if it is lost, run cosmig copy --adopt-target, which shows what is in the target before it changes anything; only if no application uses the target, you can also delete that container and begin from scratch',
      details: { seen, ours },
    });
  }
  throw new NotReadyError(`the target ${name} is not empty`, {
    why: 'a migration starts with an empty target, and the documents checked are not copies of source documents',
    hint: 'choose another target, or empty this one; if another tool has filled it from this source, run cosmig copy --adopt-target',
    details: { seen, ours },
  });
}
