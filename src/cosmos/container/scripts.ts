/** Reads and creates the stored procedures, triggers and user-defined functions of a container. */
import type { RequestOptions } from '@azure/cosmos';
import type { Account } from '../account/client.ts';
import type { ContainerName } from '../transport/container-requests.ts';
import { control, isForbidden, type ControlCall } from '../account/control-plane.ts';

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
    const list = async (options: RequestOptions) => feed.readAll(options).fetchAll();
    const seen = await control(account, call, list, isForbidden);
    if (seen === undefined) return null;
    listed.push(...seen.value.resources.map((one) => scriptOf(kind, one)));
  }
  return listed;
}

/** Creates a script; does nothing if a script of its kind and name exists. */
export async function createScript(
  account: Account,
  name: ContainerName,
  { script, ...call }: ControlCall & { readonly script: Script },
): Promise<void> {
  const { kind, id, body, trigger } = script;
  const times = trigger === null ? {} : { triggerType: trigger.type, triggerOperation: trigger.operation };
  const work = async (options: RequestOptions): Promise<unknown> =>
    feedOf(account, name, kind).create({ id, body, ...times }, options);
  await control(account, { ...call, changes: true }, work, ({ status }) => status === 409);
}

/** What is used here of the SDK's classes for scripts. It is the same for all kinds of scripts. */
interface ScriptFeed {
  readAll(options: RequestOptions): { fetchAll(): Promise<{ readonly resources: readonly object[] }> };
  create(definition: object, options: RequestOptions): Promise<unknown>;
}

function feedOf(account: Account, { database, container }: ContainerName, kind: ScriptKind): ScriptFeed {
  const { scripts } = account.client.database(database).container(container);
  const { storedProcedures, triggers, userDefinedFunctions } = scripts;
  return { 'stored procedure': storedProcedures, trigger: triggers, function: userDefinedFunctions }[kind];
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
