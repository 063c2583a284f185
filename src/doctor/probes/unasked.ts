/** What cosmig relies on and cannot ask in seconds and for cents. It is reported, so that a report shows what is open. */
import type { Probe } from './probe.ts';

function unasked(parts: Pick<Probe, 'id' | 'fact' | 'claim' | 'otherwise'>, why: string): Probe {
  return { ...parts, ask: () => Promise.resolve({ notAsked: why }) };
}

export const UNASKED: readonly Probe[] = [
  unasked(
    {
      id: 'split-gone',
      fact: 'SVC-42',
      claim:
        'while a range splits, its requests are refused with 410, or late with 503, and none is answered wrongly',
      otherwise: 'a run that meets a split may end with exit code 6; run it again',
    },
    'a split needs more than 10,000 RU/s, and may take hours',
  ),
  unasked(
    {
      id: 'key-delete-shown',
      fact: 'SVC-27',
      claim: 'the feed of all versions shows each document that a delete by partition key removes',
      otherwise: 'such deletes are found by comparing: run cosmig verify --repair after each',
    },
    'the operation is a preview that an account must enable, and works in the background',
  ),
  unasked(
    {
      id: 'recreated-rid',
      fact: 'SVC-48',
      claim: 'a container that was deleted and created again has another _rid',
      otherwise: 'cosmig could take the new container for the old one',
    },
    'it takes a second pair of containers, each billed for an hour',
  ),
  unasked(
    {
      id: 'recreated-session',
      fact: 'SVC-67',
      claim: 'a session token of a deleted container is refused by its successor with 404/1002',
      otherwise: 'nothing for a migration, which stops when the _rid has changed',
    },
    'it takes a second pair of containers, each billed for an hour',
  ),
];
