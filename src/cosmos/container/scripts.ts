/** Reads and creates the stored procedures, triggers and user-defined functions of a container. */
import type { RequestOptions } from '@azure/cosmos';
import type { Account } from '../account/client.ts';
import type { ContainerName } from '../transport/container-requests.ts';
import { controlUnless, isForbidden, type ControlCall } from '../account/control-plane.ts';

export const SCRIPT_KINDS = ['stored procedure', 'trigger', 'function'] as const;
export type ScriptKind = (typeof SCRIPT_KINDS)[number];

export interface Script {
  readonly kind: ScriptKind;
  readonly id: string;
  /** The script's source code. */
  readonly body: string;
  /** When a trigger runs; null for other scripts. */
  readonly trigger: { readonly type: unknown; readonly operation: unknown } | null;
}

/** Returns all scripts of a container; null if the caller may not see them. */
export async function listScripts(
  account: Account,
  name: ContainerName,
  call: ControlCall,
): Promise<readonly Script[] | null> {
  const listed: Script[] = [];
  for (const kind of SCRIPT_KINDS) {
    const feed = feedOf(account, name, kind);
    // An identity of Entra ID has rights to documents, and to little else.
    const seen = await controlUnless(account, call, (options) => feed.list(options), isForbidden);
    if (seen === undefined) return null;
    listed.push(...seen.value.map((one) => scriptOf(kind, one)));
  }
  return listed;
}

/** Creates a script; does nothing if a script of its kind and name exists. */
export async function createScript(
  account: Account,
  name: ContainerName,
  { script, ...call }: ControlCall & { readonly script: Script },
): Promise<void> {
  const feed = feedOf(account, name, script.kind);
  await controlUnless(
    account,
    call,
    (options) => feed.create(script, options),
    ({ status }) => status === 409,
  );
}

/** Whether two scripts have the same kind, name, code and trigger. */
export function isSameScript(one: Script, other: Script): boolean {
  return (
    one.kind === other.kind &&
    one.id === other.id &&
    one.body === other.body &&
    one.trigger?.type === other.trigger?.type &&
    one.trigger?.operation === other.trigger?.operation
  );
}

interface ScriptFeed {
  list(options: RequestOptions): Promise<readonly object[]>;
  create(script: Script, options: RequestOptions): Promise<unknown>;
}

function feedOf(account: Account, { database, container }: ContainerName, kind: ScriptKind): ScriptFeed {
  const { storedProcedures, triggers, userDefinedFunctions } = account.client
    .database(database)
    .container(container).scripts;
  switch (kind) {
    case 'stored procedure':
      return {
        list: async (options) => (await storedProcedures.readAll(options).fetchAll()).resources,
        create: ({ id, body }, options) => storedProcedures.create({ id, body }, options),
      };
    case 'function':
      return {
        list: async (options) => (await userDefinedFunctions.readAll(options).fetchAll()).resources,
        create: ({ id, body }, options) => userDefinedFunctions.create({ id, body }, options),
      };
    case 'trigger':
      return {
        list: async (options) => (await triggers.readAll(options).fetchAll()).resources,
        create: ({ id, body, trigger }, options) => {
          const definition: unknown = {
            id,
            body,
            triggerType: trigger?.type,
            triggerOperation: trigger?.operation,
          };
          // The service's own words, which the SDK declares as enums.
          return triggers.create(definition as Parameters<typeof triggers.create>[0], options);
        },
      };
  }
}

function scriptOf(kind: ScriptKind, resource: object): Script {
  const field = (name: string): unknown => Reflect.get(resource, name);
  const [id, body] = [field('id'), field('body')];
  return {
    kind,
    id: typeof id === 'string' ? id : '',
    body: typeof body === 'string' ? body : '',
    trigger: kind === 'trigger' ? { type: field('triggerType'), operation: field('triggerOperation') } : null,
  };
}
