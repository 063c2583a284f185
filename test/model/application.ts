/**
 * Owns what the application does to its documents while they are moved. It knows nothing of the move.
 */
import type { Chance } from './chance.ts';
import type { Scenario } from './scenario.ts';
import { placeOf, type Content, type Identity, type Key, type Source, type Version } from './source.ts';

const NEW: Content = { key: 'P', big: false, unique: 0, marked: false };

/** One action as text, such as `A7 move Q`; it may turn out not to be possible. */
export function randomAppAction(chance: Chance, scenario: Scenario): string {
  const id = chance.one(scenario.identities);
  const key = chance.one(['P', 'P', 'P', 'Q', 'Q'] as const);
  const verbs = ['create', 'create', 'move', 'move', 'touch', 'delete'];
  if (scenario.misfits) verbs.push('grow', 'shrink', 'break');
  if (scenario.uniqueKeys) verbs.push('unique', 'unique', 'plain');
  if (scenario.ttl) verbs.push('expire', 'purge');
  if (scenario.batches) verbs.push('batch', 'batch', 'vanish', 'return');
  if (scenario.renames) verbs.push('rename', 'rename', 'rename');
  const verb = chance.one(verbs);
  if (verb === 'rename') return `${id} rename ${key} ${chance.one(scenario.identities)}`;
  return ['create', 'move', 'batch', 'vanish', 'return'].includes(verb)
    ? `${id} ${verb} ${key}`
    : `${id} ${verb}`;
}

/** False when the action is not possible now. */
export function act(source: Source, scenario: Scenario, action: string): boolean {
  const [id = '', verb = '', key, to = ''] = action.split(' ');
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
  if (verb === 'create') return live === null && put({ ...NEW, key: keyFrom(key), unique });
  if (verb === 'batch')
    return put({ ...(live ?? NEW), key: other(keyFrom(key)) }, { ...(live ?? NEW), key: keyFrom(key) });
  if (verb === 'vanish' && !marks) return put({ ...(live ?? NEW), key: keyFrom(key) }, null);
  if (live === null) return false;
  if (verb === 'rename') {
    // The source key stays, and a taken id is refused.
    if (placeOf(to) !== placeOf(id) || source.now(to) !== null || source.awaitsPurge(to)) return false;
    source.rename(id, to, { ...live, key: keyFrom(key) });
    return true;
  }
  if (verb === 'return' && !marks) return put(null, { ...live, key: keyFrom(key) });
  const change = CHANGES[verb];
  if (change !== undefined) return put({ ...live, ...change(key) });
  if (verb === 'delete' && marks) return put({ ...live, marked: true });
  if (verb === 'delete') return remove();
  if (verb !== 'expire') return false;
  source.expire(id);
  return true;
}

const CHANGES: Readonly<Record<string, (key: string | undefined) => Partial<Version>>> = {
  touch: () => ({}),
  move: (key) => ({ key: keyFrom(key) }),
  break: () => ({ key: '!' }),
  grow: () => ({ big: true }),
  shrink: () => ({ big: false }),
  unique: () => ({ unique: 1 }),
  plain: () => ({ unique: 2 }),
};

function keyFrom(key: string | undefined): Key {
  return key === 'Q' ? 'Q' : 'P';
}

function other(key: Key): Key {
  return key === 'P' ? 'Q' : 'P';
}

export function isLive(source: Source, scenario: Pick<Scenario, 'deletes'>, id: Identity): boolean {
  const now = source.now(id);
  return now !== null && !(scenario.deletes === 'marker' && now.marked);
}
