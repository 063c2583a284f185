/**
 * One plain recommendation, with its reasons and what would change it. Invariant: a candidate that has a blocker, or a
 * risk which the present key does not have, is never recommended.
 */
import type { CandidateResult, KeyReason, FindingCode, Recommendation, SourceFigures } from '../result.ts';
import { PARTITIONS_THAT_MATTER } from './limits.ts';

/** Risks because of which a container cannot stay as it is. The others cost money or time, but work. */
const PRESSING: readonly FindingCode[] = [
  'value-over-20-gb',
  'value-near-20-gb',
  'reaches-20-gb',
  'hot-value',
  'recency',
  'uneven',
  'few-values',
];
/** What a small container can live with: its one or few partitions hold all keys anyway. */
const PRESSING_WHEN_SMALL: readonly FindingCode[] = ['value-over-20-gb', 'value-near-20-gb', 'reaches-20-gb'];

/** `read` is how many documents were read. */
/** What a sample cannot show. It is said, but it is not a reason against a key. */
const UNKNOWN: ReadonlySet<FindingCode> = new Set(['collisions-unknown', 'unique-keys-unknown']);

export function recommend(
  candidates: readonly CandidateResult[],
  source: SourceFigures,
  read: number,
): Recommendation {
  const current = candidates.find((one) => one.current);
  if (current === undefined) return { action: 'none', why: ['the present key was not measured'], unless: [] };
  if (read === 0)
    return {
      action: 'keep',
      why: ['no document was read, so nothing could be measured'],
      unless: ['the container has documents: then run the same command again, without --sample'],
    };
  const isSmall = source.partitions < PARTITIONS_THAT_MATTER.value;
  const isPressing = ({ code }: KeyReason): boolean =>
    (isSmall ? PRESSING_WHEN_SMALL : PRESSING).includes(code);
  const wrong = [...current.verdict.blockers, ...current.verdict.risks];
  const pressing = wrong.filter(isPressing);
  const usable = candidates.filter((one) => !one.current && isUsable(one, pressing));
  const [best] = usable.toSorted(byFewestRisks);
  if (pressing.length === 0) return keepOrIndex({ wrong, best, isSmall, source });
  if (best === undefined) return nothingFits(candidates, pressing);
  return {
    action: 'migrate',
    key: best.key,
    why: [
      ...pressing.map(({ text }) => `now, ${text}`),
      ...best.verdict.gains.map(({ text }) => `with ${best.key}, ${text}`),
    ],
    unless: best.verdict.risks.map(({ code, text }) =>
      UNKNOWN.has(code) ? text : `it matters that ${text}`,
    ),
  };
}

/** Whether a candidate has no blocker and is rid of all that is pressing about the present key. */
function isUsable({ verdict }: CandidateResult, pressing: readonly KeyReason[]): boolean {
  if (verdict.blockers.length > 0) return false;
  const risks = new Set(verdict.risks.map(({ code }) => code));
  return !PRESSING.some((code) => risks.has(code)) && pressing.every(({ code }) => !risks.has(code));
}

function byFewestRisks(one: CandidateResult, other: CandidateResult): number {
  return (
    risksOf(one) - risksOf(other) ||
    other.verdict.gains.length - one.verdict.gains.length ||
    // A value that only one document has keeps nothing together: every query by anything else asks all partitions.
    Number(isUnique(one)) - Number(isUnique(other)) ||
    Number(one.timeValues) - Number(other.timeValues) ||
    // Of two keys that are equal so far, the one without a derived property is less work for the application.
    one.derive.length - other.derive.length ||
    one.paths.length - other.paths.length ||
    one.data.top1Share - other.data.top1Share
  );
}

/** What a sample cannot show says nothing about the key itself. */
function risksOf({ verdict }: CandidateResult): number {
  return verdict.risks.filter(({ code }) => !UNKNOWN.has(code)).length;
}

function isUnique({ data }: CandidateResult): boolean {
  return data.itemsPerKey.p95 <= 1;
}

interface Choice {
  readonly wrong: readonly KeyReason[];
  readonly best: CandidateResult | undefined;
  readonly isSmall: boolean;
  readonly source: SourceFigures;
}

function keepOrIndex({ wrong, best, isSmall, source }: Choice): Recommendation {
  const fansOut = wrong.find(({ code }) => code === 'fan-out');
  if (fansOut !== undefined && !isSmall) {
    const helps = best?.verdict.gains.some(({ code }) => code === 'less-fan-out') === true;
    return {
      action: 'index',
      ...(best !== undefined && helps ? { key: best.key } : {}),
      why: [
        fansOut.text,
        'writes and storage are even with the present key, so a global secondary index serves these queries without a migration',
      ],
      unless: ['replaces and deletes are frequent: an index makes them dearer by half or more'],
    };
  }
  const small = `the container has ${source.partitions === 1 ? 'one physical partition' : `${source.partitions} physical partitions`}, and a key matters from about ${PARTITIONS_THAT_MATTER.value} on`;
  return {
    action: 'keep',
    why: isSmall ? [small] : ['no value is too big or too hot with the present key'],
    unless: isSmall
      ? [
          'the container is going to grow a lot',
          ...wrong.map(({ text }) => `then it would matter that ${text}`),
        ]
      : wrong.map(({ text }) => `it matters that ${text}`),
  };
}

function nothingFits(candidates: readonly CandidateResult[], pressing: readonly KeyReason[]): Recommendation {
  const others = candidates.filter((one) => !one.current);
  return {
    action: 'none',
    why: [
      ...pressing.map(({ text }) => `now, ${text}`),
      ...others.map(({ key, verdict }) => {
        const [reason] = [...verdict.blockers, ...verdict.risks];
        return `${key} will not do: ${reason?.text ?? 'it would change nothing'}`;
      }),
    ],
    unless: [
      "another candidate is measured, for example one with a suffix: --candidate '/pk={...}-{id|hash:16}'",
    ],
  };
}
