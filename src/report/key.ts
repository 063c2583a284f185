/** The keys that `cosmig key` has computed: a line per document, how the keys are spread, and the object for scripts. */
import type { Result } from '../cli/command.ts';
import type { KeyComponent } from '../epk/effective-key.ts';
import { printPath, valueAt } from '../keys/path.ts';
import type { ComputedKey, KeyPlan } from '../keys/plan.ts';
import { show } from '../keys/show.ts';
import type { KeyTally } from '../keys/key-spread.ts';
import { formatCounts } from '../lib/counting.ts';
import type { KEY_RESULT } from './json/tool-results.ts';
import type { TypeOf } from './json/schema.ts';
import { keyJson, table, type TextRow } from './format.ts';

/** The most results in the JSON object, which has to fit into memory. */
const RESULTS_MAX = 1000;
const BIGGEST = 5;

/** Collects the first results for `--json`. */
export class KeyResults {
  readonly first: TypeOf<typeof KEY_RESULT>['results'][number][] = [];

  add(document: object, computed: ComputedKey): void {
    if (this.first.length >= RESULTS_MAX) return;
    const id = valueAt(document, ['id']);
    const shown = { id: typeof id === 'string' ? id : null };
    this.first.push(
      computed.kind === 'refused'
        ? { ...shown, reason: computed.reason, why: computed.why }
        : { ...shown, key: keyJson(computed.values) },
    );
  }
}

interface KeyOfDocument {
  readonly plan: KeyPlan;
  readonly tally: KeyTally;
  readonly document: object;
  readonly values: Parameters<KeyPlan['explain']>[0];
  readonly computed: ComputedKey;
}

/**
 * Returns the line of a document: its key, a tab, and its id. With `isExplained`, further lines show how the key was
 * computed.
 */
export function keyLines(one: KeyOfDocument, isExplained: boolean): string[] {
  const { plan, tally, document, values, computed } = one;
  // A document without a key shows its reason in parentheses. A script can distinguish such a line from a key, since
  // no JSON value begins with a parenthesis.
  const shown = computed.kind === 'key' ? keyText(computed.values) : `(${computed.reason}: ${computed.why})`;
  const id = valueAt(document, ['id']);
  const line = `${shown}\t${typeof id === 'string' && /^[\x21-\x7e]+$/.test(id) ? id : show(id)}`;
  if (!isExplained) return [line];
  const steps = plan.explain(values);
  if (computed.kind === 'refused') return [line, ...steps];
  const { effectiveKey, range } = tally.positionOf(computed.values);
  const hash = `it hashes to ${effectiveKey}, in range ${range} of ${tally.inRanges.length}`;
  return [line, ...steps, hash, ...conflicts(plan, document, computed)];
}

/** Returns the whole key as text, not shortened, since a script may count how many lines have the same key. */
function keyText(values: readonly KeyComponent[]): string {
  const levels = values.map((value) => (value === undefined ? '(missing)' : JSON.stringify(value)));
  return levels.length === 1 ? levels.join('') : `[${levels.join(',')}]`;
}

/**
 * Returns a line for each derived property that the document already holds with another value. A copy does not
 * overwrite such a property.
 */
function conflicts(
  plan: KeyPlan,
  document: object,
  { additions }: Extract<ComputedKey, { kind: 'key' }>,
): string[] {
  return plan.additionPaths.flatMap((path) => {
    const present = valueAt(document, path);
    const written = additions.find((addition) => addition.path === path)?.value;
    if (present === undefined || present === written) return [];
    return [
      `${printPath(path)} holds ${show(present)}: a copy would refuse the document (key-conflict), unless that is the source's key`,
    ];
  });
}

export function keyResult(plan: KeyPlan, tally: KeyTally, { first }: KeyResults): Result {
  const { documents, distinct, isExact, missing, refused, inRanges } = tally;
  const partitionKey = plan.targetPaths.map(printPath);
  const biggest = tally.biggest(BIGGEST);
  const json: TypeOf<typeof KEY_RESULT> = {
    command: 'key',
    complete: true,
    partitionKey,
    documents,
    keys: { distinct, exact: isExact },
    missing,
    refused,
    ranges: inRanges,
    biggest: biggest.map(({ values, documents: number }) => ({ key: keyJson(values), documents: number })),
    results: first,
    resultsLeftOut: documents - first.length,
  };
  const rows: TextRow[] = [
    ['partition key', partitionKey.join(', ')],
    ['documents', String(documents)],
    ['distinct keys', isExact ? String(distinct) : `at least ${distinct}`],
    ['without a value', missing === 0 ? '0' : `${missing} (the undefined key)`],
    ['refused', formatCounts(refused) || '0'],
    [`in ${inRanges.length} even ranges`, inRanges.join(' ')],
    ...biggest.map(({ values, documents: number }, at): TextRow => [
      at === 0 ? 'biggest keys' : '',
      `${((number / documents) * 100).toFixed(1).padStart(5)} %  ${number}  ${keyText(values)}`,
    ]),
  ];
  return { json, text: '', aside: table(rows) };
}
