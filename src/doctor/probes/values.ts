/** What cosmig relies on in the values of documents: how numbers come back, and which values are different keys. */
import type { Key } from '../../documents/batch-body.ts';
import { memberOf } from '../../lib/json/json.ts';
import type { Answer, Probe } from './probe.ts';
import { FLAT_KEY, flatText, UNIQUE, type ScratchContainer } from './scratch.ts';

export const VALUES: readonly Probe[] = [
  {
    id: 'big-integers',
    fact: 'SVC-44',
    claim: 'integers beyond 2^53 come back as they were sent',
    otherwise: 'such integers are rounded in the source already; verify lists copies that differ',
    ask: async ({ flat }) => numbersBack(flat, 'big-integers', ['9007199254740993', '-9223372036854775807']),
  },
  {
    id: 'fractions',
    fact: 'SVC-44',
    claim: 'fractions come back with the same value, perhaps written in another way',
    otherwise: 'verify would report each such document as different: do not migrate; report this',
    ask: async ({ flat }) => {
      const sent = ['0.1', '1.2300', '12345.678901234567', '1e-9', '1.0'];
      return numbersBack(flat, 'fractions', sent, (text) => String(Number(text)));
    },
  },
  {
    id: 'key-types',
    fact: 'SVC-3',
    claim: 'the keys 1, "1", true, null and a missing one are five keys',
    otherwise: 'documents may collide in the target that did not in the source, or the other way round',
    ask: async ({ flat }) => {
      const keys: readonly Key[number][] = [1, '1', true, null, undefined];
      const statuses: number[] = [];
      for (const [n, key] of keys.entries()) {
        const text = flatText('key-types', key, { [UNIQUE]: `key-types-${n}` });
        const { status } = await flat.one({ verb: 'create', key: [key], text });
        statuses.push(status);
      }
      return { holds: statuses.every((status) => status === 201), seen: `status ${statuses.join(', ')}` };
    },
  },
  {
    id: 'key-objects',
    fact: 'SVC-3',
    claim: 'an object at the key path counts as a missing key',
    otherwise:
      'such documents cannot exist in the source; a copy may be refused where a target key is an object',
    ask: async ({ flat }) => {
      const text = flatText('key-objects', { is: 'an object' });
      const created = await flat.one({ verb: 'create', key: [undefined], text });
      const read = await flat.one({ verb: 'read', key: [undefined], id: 'key-objects' });
      return {
        holds: created.status === 201 && read.status === 200,
        seen: `create ${created.status}, read without a key ${read.status}`,
      };
    },
  },
  {
    id: 'rename-rid',
    fact: 'SVC-51',
    claim: 'a replace with another id within its key keeps the _rid of the document',
    otherwise:
      'cosmig may look for renames that never happened, or not notice one: compare before each cutover',
    ask: async ({ flat }) => {
      const key = ['rename'];
      await flat.one({ verb: 'create', key, text: flatText('rename-before', key[0]) });
      const { text: before } = await flat.one({ verb: 'read', key, id: 'rename-before' });
      const text = flatText('rename-after', key[0]);
      const { status } = await flat.one({ verb: 'replace', key, id: 'rename-before', text });
      if (status === 400)
        return { notAsked: 'the service refuses a replace with another id, so none is renamed' };
      const { text: after } = await flat.one({ verb: 'read', key, id: 'rename-after' });
      const [one, other] = [before, after].map((shown) => (shown === '' ? 'none' : ridIn(shown)));
      return {
        holds: status === 200 && one === other,
        seen: `replace ${status}, _rid ${one}, then ${other}`,
      };
    },
  },
];

function ridIn(text: string): string {
  return String(memberOf(JSON.parse(text), '_rid'));
}

/** Stores numbers as they are spelled, reads them back and compares their spelling, or what `as` makes of it. */
async function numbersBack(
  flat: ScratchContainer,
  id: string,
  spelled: readonly string[],
  as: (text: string) => string = (text) => text,
): Promise<Answer> {
  const members = spelled.map((text, n) => `"n${n}":${text}`).join(',');
  const text = `{"id":"${id}","${FLAT_KEY[0]}":"${id}","${UNIQUE}":"${id}",${members}}`;
  await flat.one({ verb: 'create', key: [id], text });
  const read = await flat.one({ verb: 'read', key: [id], id });
  const back = spelled.map((_text, n) => new RegExp(`"n${n}":\\s*([^,}\\s]+)`).exec(read.text)?.[1] ?? '');
  return { holds: back.every((text, n) => as(text) === as(spelled[n] ?? '')), seen: back.join(', ') };
}
