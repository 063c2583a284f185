/** The result of a cutover, as text for people and as JSON for scripts. */
import type { CutoverResult, SettingOutcome } from '../engine/cutover/contract.ts';
import { formatCount, pluralize } from '../lib/counting.ts';
import type { ProofBasis, Repaired } from '../state/journal.ts';
import { AfterCommitError, MismatchError, type CosmigError } from '../lib/errors.ts';
import { failedAfterCommit } from '../spec/refusals.ts';
import { describeDifferences, type Verdict } from '../verify/verdict.ts';
import { elideCommonPrefix, formatDuration, isoTime, table, wrapRow, type TextRow } from './format.ts';
import { formatTime, formatTs } from '../lib/clock.ts';
import type { CUTOVER_PART } from './json/run-results.ts';
import type { TypeOf } from './json/schema.ts';
import { totalOf } from './verify.ts';

export function cutoverJson({
  committedAtMs,
  stoppedMs,
  proof,
  repaired,
  settings,
  lateWrites,
}: CutoverResult): TypeOf<typeof CUTOVER_PART> {
  const committedAt = isoTime(committedAtMs);
  return { committedAt, stoppedMs, proof: proofJson(proof), repaired, settings, lateWrites };
}

export function proofJson(proof: ProofBasis | null): TypeOf<typeof CUTOVER_PART>['proof'] {
  if (proof === null) return null;
  const { compared, sinceMs, documents } = proof;
  return { compared, since: sinceMs === null ? null : isoTime(sinceMs), documents };
}

type ProofShown = NonNullable<TypeOf<typeof CUTOVER_PART>['proof']>;

/** Returns what a cutover had compared with the writers stopped. */
export function basisText({ compared, since: sinceTime, documents }: ProofShown): string {
  const counted =
    documents === null
      ? ''
      : `; ${formatCount(documents.source)} in the source, ${formatCount(documents.target)} in the target`;
  if (compared === 'all') return `all documents were compared${counted}`;
  const since = sinceTime === null ? '' : ` since ${formatTime(Date.parse(sinceTime))}`;
  return `all changes${since} were compared${counted}, as many as the ledger knows`;
}

/** What the comparisons of a cutover have found before its repairs; empty: not known, or both sides were equal. */
export type FoundUnequal = ReadonlyArray<Verdict['differences']>;

function repairedText({ documents, byOthers, ids }: Repaired, found: FoundUnequal): string {
  const sumOf = (kind: keyof Verdict['differences']): number =>
    found.reduce((sum, differences) => sum + differences[kind], 0);
  const differences = {
    missing: sumOf('missing'),
    extra: sumOf('extra'),
    different: sumOf('different'),
    wrongSlot: sumOf('wrongSlot'),
  };
  // A document that differed more than once was found more than once, and repaired as one.
  const how = totalOf(differences) === documents ? ` (${describeDifferences(differences)})` : '';
  const others = byOthers === 0 ? '' : `, ${formatCount(byOthers)} changed in the target by another process`;
  const more = documents > ids.length ? ', ...' : '';
  return `${pluralize(documents, 'document')} while writers were stopped${how}${others}: ${ids.join(', ')}${more}`;
}

/** Returns the rows of the cutover, which are shown below the rows of the run. */
export function cutoverText(
  { committedAtMs, stoppedMs, proof, repaired, settings, lateWrites }: CutoverResult,
  found: FoundUnequal,
): string {
  const late = lateWrites.map(({ ids, what }) => `${ids.join(', ') || 'unknown ids'} ${what}`);
  const shown = proofJson(proof);
  const proven = shown === null ? [] : wrapRow(['proof', basisText(shown)]);
  const fixed = repaired.documents === 0 ? [] : wrapRow(['repaired', repairedText(repaired, found)]);
  return table([
    ['committed', `${formatTime(committedAtMs)}, after ${formatDuration(stoppedMs)} with writers stopped`],
    ...proven,
    ...fixed,
    // A setting may be JSON, which is easier to compare in one piece.
    ...settings.flatMap(settingRows),
    ...wrapRow(['late writes', late.length === 0 ? 'none' : `NOT REPLICATED: ${late.join('; ')}`]),
  ]);
}

function settingRows(one: SettingOutcome): readonly TextRow[] {
  const { setting, outcome, why } = one;
  const [source, target] = elideCommonPrefix(one.source, one.target);
  const below: TextRow[] = why === undefined ? [] : [['', why]];
  switch (outcome) {
    case 'asked':
      return [['setting', `${setting}: now ${source} as in the source; before: ${target}`]];
    case 'reported':
      return [['setting', `${setting}: ${target}; in the source: ${source}`], ...below];
    case 'refused':
      return [['setting', `${setting}: still ${target}, not ${source} as in the source`], ...below];
    default:
      return outcome satisfies never;
  }
}

/**
 * Returns the error of a cutover that has committed. Late writes come first, since they are lost data. Work that is
 * left after the commit is an error too, although the target is in use.
 */
export function errorForCutover({
  lateWrites,
  settings,
  trouble,
  committedAtMs,
}: CutoverResult): CosmigError | undefined {
  if (lateWrites.length > 0) {
    const ids = new Set(lateWrites.flatMap((late) => late.ids));
    const changed = ids.size === 0 ? 'documents' : `${pluralize(ids.size, 'document')} or more`;
    return new MismatchError(`${changed} changed in the source after the commit`, {
      why: 'the target is in use, and writes to the source are no longer replicated',
      hint: `find the process that still writes to the source and stop it; then fix in the target what it has written: the documents named above, and others of the source with a _ts of ${formatTs(committedAtMs)} or more`,
    });
  }
  if (trouble !== null) return failedAfterCommit(trouble);
  const refused = settings.filter(({ outcome }) => outcome === 'refused');
  if (refused.length === 0) return undefined;
  return new AfterCommitError('the target is in use, but some of its settings could not be changed', {
    why: refused.map(({ setting, why }) => `${setting}: ${why ?? ''}`).join('; '),
    hint: 'run the same cosmig cutover again, or change them yourself',
  });
}
