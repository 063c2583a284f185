/** `cosmig key`: what key each document would get, before anything is moved. Reads JSON, writes nothing but text. */
import { createReadStream } from 'node:fs';
import type { Command, Input, OptionTable, Result, Values } from '../cli/command.ts';
import type { KeyComponent } from '../epk/effective-key.ts';
import { FILTERS, parseDerivation } from '../keys/strategies/parse.ts';
import { parsePath, printPath, valueAt } from '../keys/path.ts';
import { makePlan, type ComputedKey, type KeyPlan } from '../keys/plan.ts';
import { printable, show } from '../keys/show.ts';
import { KeyTally } from '../keys/key-spread.ts';
import { orAborted } from '../lib/abort.ts';
import { DeadLetterError, UsageError } from '../lib/errors.ts';
import { fileTrouble } from '../lib/fs-error.ts';
import { readJson } from '../lib/json-stream.ts';

/** One JSON object has to hold them all. */
const RESULTS_MAX = 1000;
const BIGGEST = 5;

const OPTIONS = {
  partitionKey: {
    type: 'list',
    env: 'COSMIG_PARTITION_KEY',
    help: 'key path of the target, as /tenantId or /address/zip; again for each further level',
  },
  derive: {
    type: 'list',
    help: "property to write into each document, as '/pk={tenantId}-{createdAt|month}'; the key without --partition-key",
  },
  missingKey: {
    type: 'choice',
    choices: ['keep', 'dead-letter', 'fail'],
    default: 'keep',
    help: 'what to do about documents without the key value',
  },
  explain: { type: 'boolean', default: false, help: 'tell step by step how each key comes about' },
  ranges: { type: 'number', default: 10, min: 1, max: 1000, help: 'even ranges to show the spread over' },
} as const satisfies OptionTable;

export const key: Command<typeof OPTIONS> = {
  name: 'key',
  summary: 'print the new key of documents, to try one out',
  description:
    'Reads JSON documents (one a line, or an array; from FILE or piped in) and prints the new key of each with its ' +
    `id, and at the end how the keys spread. Moves nothing. Filters of --derive: ${FILTERS.map(({ example }) => example).join(', ')}.`,
  examples: [
    { line: 'cosmig key orders.json --partition-key /address/zip', purpose: 'a property that is there' },
    {
      line: "cosmig key orders.json --derive '/pk={tenantId}-{createdAt|month}' --explain",
      purpose: 'one that is put together, step by step',
    },
  ],
  options: OPTIONS,
  operand: 'FILE',
  async run({ options, operand, stdin, signal, out }) {
    const plan = planOf(options);
    const tally = new KeyTally(plan.targetPaths.length > 1 ? 'multi-hash' : 'hash-v2', options.ranges);
    const isPiped = operand === undefined || operand === '-';
    if (isPiped && stdin.isTTY === true) out.note('type or paste JSON documents, then Ctrl-D');
    const name = isPiped ? 'the input' : operand;
    const results: object[] = [];
    for await (const { value, line } of readJson(
      bytesOf(isPiped ? stdin : open(operand), name, signal),
      name,
    )) {
      const document = asDocument(value, name, line);
      const values = plan.inputs.map((path) => valueAt(document, path));
      const computed = plan.compute(values);
      tally.add(computed);
      if (computed.kind === 'refused' && options.missingKey === 'fail')
        throw failed(name, line, computed.why);
      if (results.length < RESULTS_MAX) results.push(resultOf(document, computed));
      const steps = options.explain
        ? [...explain(plan, tally, values, computed), ...conflicts(plan, document, computed)]
        : [];
      // Whoever took what they wanted (`| head`) wants no summary of a part either.
      if (!(await out.line([lineOf(document, computed), ...steps].join('\n  ')))) return undefined;
    }
    return present(plan, tally, results);
  },
};

function planOf({ partitionKey, derive, missingKey }: Values<typeof OPTIONS>): KeyPlan {
  for (const text of partitionKey) readable('--partition-key', text, parsePath);
  for (const text of derive) readable('--derive', text, parseDerivation);
  return makePlan({ sourcePaths: [], partitionKey, derive, missingKey });
}

/** A text that says nothing is told with the flag it came by. */
function readable(flag: string, text: string, parse: (text: string) => unknown): void {
  try {
    parse(text);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const { why, hint, details } = error;
    const { position } = details;
    throw new UsageError(`${flag} ${text} is not possible`, {
      why: typeof position === 'number' ? `${why}, character ${position}` : why,
      hint,
      cause: error,
    });
  }
}

function open(file: string): Input {
  return createReadStream(file, { highWaterMark: 256 * 1024 });
}

/** The input until it ends or somebody stops us: a terminal may never end. */
async function* bytesOf(input: Input, name: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const reader = input[Symbol.asyncIterator]();
  while (true) {
    const next = await orAborted(reader.next(), signal).catch((error: unknown) => {
      if (signal.aborted) throw error;
      throw new UsageError(`${name} cannot be read`, {
        why: fileTrouble(error),
        hint: 'give a file of JSON documents, or pipe them in',
        cause: error,
      });
    });
    if (next.done === true) return;
    yield next.value;
  }
}

function asDocument(value: unknown, name: string, line: number): object {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new UsageError(`${name} holds something else than documents at line ${line}`, {
    why: 'a document is a JSON object',
    hint: 'give one JSON object a line, or one array of objects',
  });
}

function failed(name: string, line: number, why: string): DeadLetterError {
  return new DeadLetterError(`the document at line ${line} of ${name} has no key`, {
    why,
    hint: 'use --missing-key keep or dead-letter to see the others, or choose another key',
  });
}

/** The key, and the id behind a tab. What has no key shows in brackets, which no JSON begins with. */
function lineOf(document: object, computed: ComputedKey): string {
  const shown = computed.kind === 'key' ? printKey(computed.values) : `(${computed.reason}: ${computed.why})`;
  const id = valueAt(document, ['id']);
  return `${shown}\t${typeof id === 'string' && /^[\x21-\x7e]+$/.test(id) ? id : show(id)}`;
}

/** The key as JSON; in full, since scripts may count these. */
function printKey(values: readonly KeyComponent[]): string {
  const levels = values.map((value) =>
    value === undefined ? '(missing)' : printable(JSON.stringify(value)),
  );
  return levels.length === 1 ? levels.join('') : `[${levels.join(',')}]`;
}

function explain(
  plan: KeyPlan,
  tally: KeyTally,
  values: Parameters<KeyPlan['explain']>[0],
  computed: ComputedKey,
): string[] {
  const steps = [...plan.explain(values)];
  if (computed.kind === 'refused') return steps;
  const { effectiveKey, range } = tally.placeOf(computed.values);
  return [...steps, `it hashes to ${effectiveKey}, in range ${range} of ${tally.inRanges.length}`];
}

/** What stands in the way of a derived property: a copy never writes over a value that is the application's. */
function conflicts(plan: KeyPlan, document: object, computed: ComputedKey): string[] {
  if (computed.kind === 'refused') return [];
  return plan.additionPaths.flatMap((path) => {
    const there = valueAt(document, path);
    const written = computed.additions.find((addition) => addition.path === path)?.value;
    if (there === undefined || there === written) return [];
    return [
      `${printPath(path)} holds ${show(there)}: a copy would refuse the document (key-conflict), unless that is the source's key`,
    ];
  });
}

/** A missing level is {}, as it is on the wire of Cosmos DB: null is a key value of its own. */
function jsonKey(values: readonly KeyComponent[]): unknown[] {
  return values.map((value) => (value === undefined ? {} : value));
}

function resultOf(document: object, computed: ComputedKey): object {
  const id = valueAt(document, ['id']);
  const shown = { id: typeof id === 'string' ? id : null };
  if (computed.kind === 'refused') return { ...shown, reason: computed.reason, why: computed.why };
  return { ...shown, key: jsonKey(computed.values) };
}

function present(plan: KeyPlan, tally: KeyTally, results: readonly object[]): Result {
  const { documents, distinct, isExact, missing, refused, inRanges } = tally;
  const partitionKey = plan.targetPaths.map(printPath);
  const biggest = tally.biggest(BIGGEST);
  const json = {
    command: 'key',
    complete: true,
    partitionKey,
    documents,
    keys: { distinct, exact: isExact },
    missing,
    refused,
    ranges: inRanges,
    biggest: biggest.map(({ values, documents }) => ({ key: jsonKey(values), documents })),
    results,
    resultsLeftOut: documents - results.length,
  };
  const rows: Array<readonly [string, string]> = [
    ['partition key', partitionKey.join(', ')],
    ['documents', String(documents)],
    ['distinct keys', isExact ? String(distinct) : `at least ${distinct}`],
    ['without a value', missing === 0 ? '0' : `${missing} (the undefined key)`],
    ['refused', refusals(refused)],
    [`in ${inRanges.length} even ranges`, inRanges.join(' ')],
    ...biggest.map(
      ({ values, documents: count }, index) =>
        [
          index === 0 ? 'biggest keys' : '',
          `${((count / documents) * 100).toFixed(1).padStart(5)} %  ${count}  ${printKey(values)}`,
        ] as const,
    ),
  ];
  return { json, text: '', aside: rows.map(([name, value]) => `${name.padEnd(20)} ${value}`).join('\n') };
}

function refusals(refused: KeyTally['refused']): string {
  const told = Object.entries(refused).filter(([, count]) => count > 0);
  return told.length === 0 ? '0' : told.map(([reason, count]) => `${count} ${reason}`).join(', ');
}
