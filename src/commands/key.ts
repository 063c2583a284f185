/**
 * `cosmig key`: shows the new key of each document, so that the operator can try out a key. It reads documents from a
 * file or a pipe, and changes nothing.
 */
import { createReadStream } from 'node:fs';
import type { Command, Input } from '../cli/command.ts';
import { orAborted } from '../lib/abort.ts';
import { DeadLetterError, UsageError } from '../lib/errors.ts';
import { describeFsError } from '../lib/fs-error.ts';
import { KEY_OPTIONS } from '../spec/fields.ts';

const OPTIONS = {
  explain: { type: 'boolean', help: 'print step by step how each key is computed' },
  ranges: {
    type: 'number',
    default: 10,
    min: 1,
    max: 1000,
    help: 'how many equal ranges of the hash space the spread is shown for',
  },
  ...KEY_OPTIONS,
} as const;

export const key: Command<typeof OPTIONS> = {
  name: 'key',
  summary: 'print the new key of documents, to try out a key',
  description:
    'Reads JSON documents (one per line, or an array; from FILE or piped in) and prints the new key of each with its ' +
    'id, and at the end how the keys are spread. Moves nothing. Filters of --derive: lower, upper, trim, slice:0:3, ' +
    'default:x, date:yyyy-MM, day, week, month, quarter, year, hash:400, pad:3.',
  examples: [
    { line: 'cosmig key orders.json --partition-key /address/zip', purpose: 'an existing property' },
    {
      line: "cosmig key orders.json --derive '/pk={tenantId}-{createdAt|month}' --explain",
      purpose: 'a key made of two properties, step by step',
    },
  ],
  options: OPTIONS,
  endsWith: { 'dead-letters': 'a document has no key, with --missing-key fail' },
  operand: '[FILE]',
  async run({ options, operand, env, stdin, signal, out }) {
    const { loadKey } = await import('../spec/load.ts');
    const { valueAt } = await import('../keys/path.ts');
    const { makePlan } = await import('../keys/plan.ts');
    const { KeyTally } = await import('../keys/key-spread.ts');
    const { readJson } = await import('../lib/json/json-stream.ts');
    const { keyLines, keyResult, KeyResults } = await import('../report/key.ts');
    const { missingKey, partitionKey, derive } = loadKey({ options, env });
    const plan = makePlan({ sourcePaths: [], partitionKey, derive, missingKey });
    const tally = new KeyTally(plan.targetPaths.length > 1 ? 'multi-hash' : 'hash-v2', options.ranges);
    const isPiped = operand === undefined || operand === '-';
    if (isPiped && stdin.isTTY === true) out.note('type or paste JSON documents, then Ctrl-D');
    const name = isPiped ? 'the input' : operand;
    const input = isPiped ? stdin : createReadStream(operand, { highWaterMark: 256 * 1024 });
    const results = new KeyResults();
    for await (const { value, line } of readJson(bytesOf(input, name, signal), name)) {
      const document = asDocument(value, name, line);
      const values = plan.inputs.map((path) => valueAt(document, path));
      const computed = plan.compute(values);
      tally.add(computed);
      if (computed.kind === 'refused' && missingKey === 'fail') throw failed(name, line, computed.why);
      results.add(document, computed);
      const lines = keyLines({ plan, tally, document, values, computed }, options.explain);
      // The reader of stdout has left (`| head`), so it does not need the summary either.
      if (!(await out.line(lines.join('\n  ')))) return undefined;
    }
    return keyResult(plan, tally, results);
  },
};

/** Reads the input until it ends or the command is stopped. The input from a terminal may never end. */
async function* bytesOf(input: Input, name: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const reader = input[Symbol.asyncIterator]();
  while (true) {
    const next = await orAborted(reader.next(), signal).catch((error: unknown) => {
      if (signal.aborted) throw error;
      throw new UsageError(`${name} cannot be read`, {
        why: describeFsError(error),
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
  throw new UsageError(`line ${line} of ${name} is not a document`, {
    why: 'a document is a JSON object',
    hint: 'give one JSON object per line, or one array of objects',
  });
}

function failed(name: string, line: number, why: string): DeadLetterError {
  return new DeadLetterError(`the document at line ${line} of ${name} has no key`, {
    why,
    hint: 'use --missing-key keep or dead-letter to see the others, or choose another key',
  });
}
