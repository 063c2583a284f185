import { describe, expect, test } from 'vitest';
import {
  classify,
  signOf,
  type Content,
  type Seen,
  type TargetSeen,
} from '../../../../src/verify/recheck/classify.ts';

const content = (text: string, more: Partial<Content> = {}): Content => ({
  body: Buffer.from(text),
  crossCheck: 'g',
  expiry: undefined,
  ...more,
});
const moves = (text = '{"id":"a"}', more: Partial<Content> = {}): Seen['source'] => ({
  is: 'moves',
  etag: 'e1',
  targetKey: 'P',
  content: content(text, more),
});
const at = (targetKey: string, text = '{"id":"a"}', more: Partial<Content> = {}): TargetSeen => ({
  targetKey,
  slot: targetKey,
  etag: 't1',
  content: content(text, more),
});
const gone: Seen['source'] = { is: 'gone' };
const marked: Seen['source'] = { is: 'marked', etag: 'e1' };
const refused: Seen['source'] = { is: 'refused', etag: 'e1' };
const NOW = 1_000_000;

const verdictOf = (seen: Seen): string => {
  const finding = classify(seen);
  return finding.is === 'differs' ? finding.kind : finding.is;
};

/** A letter whose older version was left at P, or whose document has no copy of ours. */
const LETTERS: Readonly<Record<string, NonNullable<Seen['letter']>>> = {
  open: { state: 'open', keptIn: 'P' },
  discarded: { state: 'discarded', keptIn: 'P' },
  'open, nothing kept': { state: 'open', keptIn: null },
  'discarded, nothing kept': { state: 'discarded', keptIn: null },
};

type Case = readonly [string, string, Seen['source'], readonly TargetSeen[], string?];

const cases = (
  [
    ['the same in its place', 'equal', moves(), [at('P')]],
    ['gone on both sides', 'equal', gone, []],
    ['marked, and not there', 'equal', marked, []],
    ['not there', 'missing', moves(), []],
    ['only elsewhere', 'wrongSlot', moves(), [at('Q')]],
    ['elsewhere as well', 'extra', moves(), [at('P'), at('Q')]],
    ['another content', 'different', moves(), [at('P', '{"id":"a","n":1}')]],
    ['only in the target', 'extra', gone, [at('P')]],
    ['marked, and still there', 'extra', marked, [at('P')]],
    ['other order of members', 'equal', moves('{"id":"a","n":1.10}'), [at('P', '{"n":11e-1,"id":"a"}')]],
    [
      'a rounded integer',
      'different',
      moves('{"n":9223372036854775807}'),
      [at('P', '{"n":9223372036854775808}')],
    ],
    [
      'equal bytes that JSON.parse reads differently',
      'different',
      moves(),
      [at('P', '{"id":"a"}', { crossCheck: 'h' })],
    ],
    ['refused with a letter', 'letter', refused, [], 'open'],
    ['refused with a waiver', 'waived', refused, [], 'discarded'],
    ['refused, an old version stays, with a letter', 'letter', refused, [at('P')], 'open'],
    ['refused without a letter', 'missing', refused, []],
    ['refused without a letter, an old version stays', 'different', refused, [at('P')]],
    ['not there, with a letter', 'letter', moves(), [], 'open'],
    ['an old version, with a letter', 'letter', moves(), [at('P', '{"id":"a","n":0}')], 'open'],
    ['a letter explains no document under another key', 'wrongSlot', moves(), [at('Q')], 'open'],
    ['a letter explains no second document', 'extra', refused, [at('P'), at('Q')], 'open'],
    [
      'a letter explains no old version next to a second document',
      'different',
      moves(),
      [at('P', '{"id":"a","n":0}'), at('Q')],
      'open',
    ],
    ['refused, nothing kept', 'letter', refused, [], 'open, nothing kept'],
    ['a letter explains no copy where none was kept', 'extra', refused, [at('P')], 'open, nothing kept'],
    ['a waiver explains no copy where none was kept', 'extra', refused, [at('P')], 'discarded, nothing kept'],
    ['a letter explains no copy elsewhere', 'extra', refused, [at('Q')], 'open'],
    [
      'a letter explains no other content where nothing was kept',
      'different',
      moves(),
      [at('P', '{"id":"a","n":0}')],
      'open, nothing kept',
    ],
    ['written meanwhile, before its letter is closed', 'equal', moves(), [at('P')], 'open, nothing kept'],
    ['a letter explains no document without a source', 'extra', gone, [at('P')], 'open'],
    [
      'ends too early',
      'different',
      moves('{}', { expiry: NOW + 5000 }),
      [at('P', '{}', { expiry: NOW + 4000 })],
    ],
    ['never ends', 'different', moves('{}', { expiry: NOW + 5000 }), [at('P', '{}')]],
    ['just expired in the source', 'expired', gone, [at('P', '{}', { expiry: NOW + 10 })]],
    ['just expired in the target', 'expired', moves('{}', { expiry: NOW - 10 }), []],
    [
      'ends later by as much as a request may take',
      'equal',
      moves('{}', { expiry: NOW + 5000 }),
      [at('P', '{}', { expiry: NOW + 5060 })],
    ],
    [
      'ends later than any request takes',
      'different',
      moves('{}', { expiry: NOW + 5000 }),
      [at('P', '{}', { expiry: NOW + 5061 })],
    ],
    [
      'ends earlier than two clocks differ',
      'different',
      moves('{}', { expiry: NOW + 5000 }),
      [at('P', '{}', { expiry: NOW + 4994 })],
    ],
    ['gone a while before its end', 'extra', gone, [at('P', '{}', { expiry: NOW + 61 })]],
    ['not there a while before its end', 'missing', moves('{}', { expiry: NOW + 61 }), []],
    [
      'just expired in the source, and one of two will stay',
      'extra',
      gone,
      [at('P', '{}', { expiry: NOW + 10 }), at('Q', '{}', { expiry: NOW + 50_000 })],
    ],
    ['gone long before its end', 'extra', gone, [at('P', '{}', { expiry: NOW + 50_000 })]],
  ] satisfies readonly Case[] as readonly Case[]
).map(([what, expected, source, targets, letter = '']) => {
  const seen: Seen = { source, targets, letter: LETTERS[letter] ?? null, nowTs: NOW };
  return [what, expected, seen] as const;
});

describe('classify: what was seen of a document', () => {
  test.each(cases)('%s -> %s', (_what, expected, seen) => {
    expect(verdictOf(seen)).toBe(expected);
  });

  test('sign: nothing changed -> equal; anything changed -> different', () => {
    const seen: Seen = { source: moves(), targets: [at('P'), at('Q')], letter: null, nowTs: 0 };
    const sign = (one: Seen): string => signOf(one, classify(one));
    const others: readonly Seen[] = [
      { ...seen, source: gone },
      { ...seen, source: { ...moves(), etag: 'e2' } as Seen['source'] },
      { ...seen, targets: [at('P')] },
      { ...seen, targets: [at('P'), { ...at('Q'), etag: 't2' }] },
    ];
    expect(sign({ ...seen, targets: seen.targets.toReversed() })).toBe(sign(seen));
    for (const other of others) expect(sign(other)).not.toBe(sign(seen));
  });
});
