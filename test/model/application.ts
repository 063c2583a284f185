/**
 * Owns what the application does to its documents while they are moved. It knows nothing of the move.
 */
import type { Chance } from './chance.ts';
import type { Scenario } from './scenario.ts';
import { placeOf, type Content, type Identity, type Key, type Source, type Version } from './source.ts';

/** The key values that documents may have in the target. */
const KEYS: readonly [Key, Key] = ['P', 'Q'];

/** One action as text, such as `A7 move Q`; it may turn out not to be possible. */
export function randomAppAction(chance: Chance, scenario: Scenario): string {
  const id = chance.one(scenario.identities);
  const key = (scenario.keys ?? KEYS)[chance.one([0, 0, 0, 1, 1] as const)];
  const verbs = ['create', 'create', 'move', 'move', 'touch', 'delete'];
  if (scenario.misfits) verbs.push('grow', 'shrink', 'break');
  if (scenario.uniqueKeys) verbs.push('unique', 'unique', 'plain');
  if (scenario.ttl) verbs.push('expire', 'purge');
  if (scenario.batches) verbs.push('batch', 'batch', 'vanish', 'return');
  if (scenario.owns === true && scenario.keys === undefined) verbs.push('own', 'own', 'disown');
  if (scenario.names === true) verbs.push('name', 'name', 'unname');
  if (scenario.renames) verbs.push('rename', 'rename', 'rename');
  const verb = chance.one(verbs);
  if (verb === 'rename') return `${id} rename ${key} ${chance.one(scenario.identities)}`;
  return ['create', 'move', 'batch', 'vanish', 'return'].includes(verb)
    ? `${id} ${verb} ${key}`
    : `${id} ${verb}`;
}

/** False when the action is not possible now. */
export function act(source: Source, scenario: Scenario, action: string): boolean {
  const [first, second] = scenario.keys ?? KEYS;
  const [id = '', verb = '', key = first, to = ''] = action.split(' ');
  const otherKey = key === first ? second : first;
  const fresh: Content = { key, big: false, unique: 0, marked: false };
  const now = source.now(id);
  const marks = scenario.deletes === 'marker';
  const live = now !== null && !(marks && now.marked) ? now : null;
  const unique = scenario.uniqueKeys ? 1 : 0;
  const put = (...contents: (Content | null)[]): boolean => {
    source.put(id, contents);
    return true;
  };
  const remove = (): boolean => {
    source.delete(id);
    return true;
  };
  if (verb === 'purge') return source.awaitsPurge(id) && remove();
  if (verb === 'create') return live === null && put({ ...fresh, unique });
  if (verb === 'batch') return put({ ...(live ?? fresh), key: otherKey }, { ...(live ?? fresh), key });
  if (verb === 'vanish' && !marks) return put({ ...(live ?? fresh), key }, null);
  if (live === null) return false;
  if (verb === 'rename') {
    // The source key stays, and a taken id is refused.
    if (placeOf(to) !== placeOf(id) || source.now(to) !== null || source.awaitsPurge(to)) return false;
    source.rename(id, to, { ...live, key });
    return true;
  }
  if (verb === 'return' && !marks) return put(null, { ...live, key });
  // Either the document or its key has the target key, whichever container it is in.
  if (verb === 'name') return put({ ...live, derived: (id + live.key).includes('P') ? 'Q' : 'P' });
  const change = CHANGES[verb];
  if (change !== undefined) return put({ ...live, ...change(key) });
  if (verb === 'delete' && marks) return put({ ...live, marked: true });
  if (verb === 'delete') return remove();
  if (verb !== 'expire') return false;
  source.expire(id);
  return true;
}

const CHANGES: Readonly<Record<string, (key: Key) => Partial<Version>>> = {
  touch: () => ({}),
  move: (key) => ({ key }),
  break: () => ({ key: '!' }),
  grow: () => ({ big: true }),
  shrink: () => ({ big: false }),
  unique: () => ({ unique: 1 }),
  plain: () => ({ unique: 2 }),
  unname: () => ({ derived: undefined }),
  own: () => ({ own: true }),
  disown: () => ({ own: undefined }),
};

export function isLive(source: Source, scenario: Pick<Scenario, 'deletes'>, id: Identity): boolean {
  const now = source.now(id);
  return now !== null && !(scenario.deletes === 'marker' && now.marked);
}
