/** Draws the picture at the end of the demo, within 80 columns, from the findings of the demo. */
import { formatCount, pluralize } from '../lib/counting.ts';
import { formatDuration, table } from '../report/format.ts';
import type { DEMO_RESULT } from '../report/json/tool-results.ts';
import type { TypeOf } from '../report/json/schema.ts';

/** The result of the demo, without the members that every result has. */
export type DemoFindings = Omit<
  TypeOf<typeof DEMO_RESULT>,
  'command' | 'complete' | 'report' | 'kept' | 'durationMs'
>;
/** How documents and RU are spread in a container. */
export type Spread = DemoFindings['before'];
type LetterShown = DemoFindings['letters'][number];

const BAR_COLUMNS = 30;

export function demoText(findings: DemoFindings): string {
  const { before, after, moved, application, split, letters, stoppedMs, proof } = findings;
  const { created, updated, moved: reassigned, deleted, throttled } = application;
  const scale = scaleOf([before, after]);
  return [
    ...spreadText('BEFORE', before, scale),
    '',
    ...spreadText(findings.back === undefined ? 'AFTER' : 'BETWEEN', after, scale),
    '',
    table([
      ['the application', `${formatCount(created ?? 0)} created, ${formatCount(updated ?? 0)} updated,`],
      [
        '',
        `${formatCount(reassigned ?? 0)} given to another customer, ${formatCount(deleted ?? 0)} deleted;`,
      ],
      ['', 'it kept writing, so no two counts are of the same moment'],
      ['', `throttled (429) ${pluralize(throttled ?? 0, 'time')}`],
      ['copied', pluralize(moved.copied, 'document')],
      ['replicated then', changesText(moved.replayed, moved)],
      ['half-way', `range ${split.from} of the source was split into ${split.into.join(' and ')}`],
      ...letters.map((letter): [string, string] => [`dead letter ${letter.number}`, letterText(letter)]),
      ['cutover, at first', findings.refused],
      ['writers stopped for', formatDuration(stoppedMs)],
      [
        'proof',
        `${proof.equal ? 'equal' : 'NOT equal'}: ${pluralize(proof.compared, 'document')}, with writers stopped; ${pluralize(proof.lateWrites, 'late write')}`,
      ],
      [
        '',
        `${formatCount(proof.orders.found)} of ${pluralize(proof.orders.known, 'order')} of the application are as it left them`,
      ],
      ['', `the integer ${proof.long.source ?? 'none'} before, ${proof.long.target ?? 'none'} after`],
      ...backRows(findings),
    ]),
  ].join('\n');
}

function backRows({ back }: DemoFindings): ReadonlyArray<readonly [string, string]> {
  if (back === undefined) return [];
  const { replicated, moved, deleted, stoppedMs, orders } = back;
  return [
    ['and back', 'the application uses the source again, by its old key'],
    ['replicated back', changesText(replicated, { moved, deleted })],
    ['', `writers stopped for ${formatDuration(stoppedMs)}`],
    [
      '',
      `${formatCount(orders.found)} of ${pluralize(orders.known, 'order')} are in the source as last written`,
    ],
  ];
}

function changesText(
  written: number,
  { moved, deleted }: { readonly moved: number; readonly deleted: number },
): string {
  return `${formatCount(written)} written, ${formatCount(moved)} moved to a new key, ${formatCount(deleted)} deleted`;
}

interface Scale {
  readonly documents: number;
  readonly ru: number;
}

/** Returns one scale for both pictures, so that a reader can compare them. */
function scaleOf(spreads: readonly Spread[]): Scale {
  const top = (values: readonly number[]): number => Math.max(1, ...values);
  return {
    documents: top(spreads.flatMap((spread) => spread.top.map(({ documents }) => documents))),
    ru: top(spreads.flatMap(({ ranges }) => ranges.map(({ ru }) => ru))),
  };
}

function spreadText(head: string, spread: Spread, scale: Scale): string[] {
  const { container, partitionKey, documents, keys, top, ranges } = spread;
  return [
    `${head}  ${container} by ${partitionKey}: ${pluralize(documents, 'document')}, ${pluralize(keys, 'key value')}`,
    ...top.map(
      ({ key, documents: some }) =>
        `  ${(key ?? '(none)').padEnd(10)} ${bar(some, scale.documents)} ${formatCount(some).padStart(6)} ${share(some, documents)}`,
    ),
    // The busiest first, as the key values.
    ...ranges
      .toSorted((one, other) => other.ru - one.ru)
      .map(({ id, documents: some, ru, throttled }) => {
        const refused = throttled === 0 ? '' : `, ${formatCount(throttled)} x 429`;
        // Such a range has its share of the throughput as well.
        const docs = some === 0 ? 'no documents' : `${formatCount(some)} docs`;
        return `  ${`range ${id}`.padEnd(10)} ${bar(ru, scale.ru)} ${formatCount(Math.round(ru)).padStart(6)} RU/s, ${docs}${refused}`;
      }),
  ];
}

function bar(value: number, largest: number): string {
  const columns = Math.round((value * BAR_COLUMNS) / largest);
  return '█'.repeat(value > 0 ? Math.max(1, columns) : 0).padEnd(BAR_COLUMNS);
}

function share(part: number, whole: number): string {
  return `${whole === 0 ? 0 : Math.round((part * 100) / whole)}%`.padStart(4);
}

function letterText({ reason, id, targetKey, state }: LetterShown): string {
  return `${reason} of ${id} at ${targetKey ?? 'no key'}: ${ENDS[state] ?? state}`;
}

const ENDS: Readonly<Record<string, string>> = {
  closed: 'fixed in the source',
  discarded: 'left in the source',
  open: 'STILL OPEN',
};
