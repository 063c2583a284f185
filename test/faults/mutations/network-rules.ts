/** The rules about requests, the local account's door and the terminal's, each with the test that must notice. */
import type { Rule } from './rule.ts';

const REQUESTS = 'src/cosmos/transport/container-requests.ts';
const IDENTITY = 'test/integration/cosmos/silent-identity.test.ts';
const BATCHES = 'test/integration/cosmos/batch.test.ts';

const MARKS = 'src/lib/json/printable.ts';
const OUTPUT = 'src/cli/output.ts';
const OUTPUT_TEST = 'test/unit/cli/output.test.ts';
const HOSTILE = 'test/integration/cli/hostile-texts.test.ts';

const CALLERS = 'src/emulator/http/callers.ts';
const PAGES = 'test/contract/clients/web-pages.test.ts';

export const NETWORK_RULES: readonly Rule[] = [
  {
    name: 'a-refused-signature-is-not-replaced',
    edits: [{ file: REQUESTS, find: 'if (isUsed && !exchange.ok', replace: 'if (!isUsed && !exchange.ok' }],
    test: BATCHES,
    by: '401 once',
  },
  {
    name: 'any-401-is-sent-again',
    edits: [{ file: REQUESTS, find: 'if (isUsed && !exchange.ok', replace: 'if (!exchange.ok' }],
    test: BATCHES,
    by: '401, however often',
  },
  {
    name: 'a-piece-of-a-head-is-not-copied',
    edits: [
      {
        file: 'src/cosmos/transport/reply-reader.ts',
        find: "its head is too long');\n    if (end < 0) {\n      this.#pending = whole === bytes ? Buffer.from(bytes) : whole;",
        replace: "its head is too long');\n    if (end < 0) {\n      this.#pending = whole;",
      },
    ],
    test: 'test/integration/cosmos/http-connection.test.ts',
    by: 'each connection gets its own',
  },
  {
    name: 'a-silent-identity-is-waited-for',
    edits: [
      {
        file: REQUESTS,
        find: 'orAborted(send(passage, signal), signal);',
        replace: 'send(passage, signal);',
      },
    ],
    test: IDENTITY,
    by: 'ends by its time limit',
  },
  {
    name: 'signing-in-has-no-limit',
    edits: [
      {
        file: 'src/cosmos/account/sign-in.ts',
        find: 'new Deadline(ANSWERS_WITHIN_MS,',
        replace: 'new Deadline(1000 * ANSWERS_WITHIN_MS,',
      },
    ],
    test: 'test/unit/cosmos/account/sign-in.test.ts',
    by: 'an identity that never answers',
  },
  {
    name: 'an-aborted-request-is-sent-late',
    edits: [
      {
        file: 'src/cosmos/transport/byte-transport.ts',
        find: 'if (request.abortSignal?.aborted === true) throw aborted(undefined);',
        replace: 'if (request.timeout < 0) throw aborted(undefined);',
      },
      {
        file: 'src/cosmos/transport/byte-transport.ts',
        find: "return this.#carry(request, must(this.#open.get(token), 'a passage token belongs to an open passage'));",
        replace: 'return this.#carry(request, this.#open.get(token) ?? this.open());',
      },
    ],
    test: IDENTITY,
    by: 'a late token sends nothing',
  },
  {
    name: 'controls-of-c1-are-printed',
    edits: [{ file: MARKS, find: String.raw`[\p{Cc}\p{Cf}`, replace: String.raw`[\x00-\x1f\x7f\p{Cf}` }],
    test: HOSTILE,
    by: 'hostile command lines',
  },
  {
    name: 'directions-of-text-are-printed',
    edits: [
      {
        file: MARKS,
        find: String.raw`\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}`,
        replace: String.raw`\p{Cs}\p{Zl}\p{Zp}`,
      },
    ],
    test: HOSTILE,
    by: 'hostile command lines',
  },
  {
    name: 'blank-letters-are-printed',
    edits: [{ file: MARKS, find: String.raw`\p{Default_Ignorable_Code_Point}`, replace: '' }],
    test: HOSTILE,
    by: 'hostile command lines',
  },
  {
    name: 'json-is-printed-as-it-is',
    edits: [
      {
        file: 'src/lib/json/json.ts',
        find: "return printable(JSON.stringify(plain(value)) ?? 'null');",
        replace: "return JSON.stringify(plain(value)) ?? printable('null');",
      },
    ],
    test: HOSTILE,
    by: 'a refusal by a document',
  },
  {
    name: 'errors-are-printed-as-they-are',
    edits: [
      {
        file: OUTPUT,
        find: "${head}${printable(`${fitted}\\n${details.join('')}`)}",
        replace: "${head}${`${fitted}\\n${details.join('')}`}",
      },
    ],
    test: HOSTILE,
    by: 'hostile command lines',
  },
  {
    name: 'the-live-line-is-printed-as-it-is',
    edits: [
      { file: OUTPUT, find: 'printable(render(columns)).slice(0, columns)', replace: 'render(columns)' },
    ],
    test: OUTPUT_TEST,
    by: 'the live line',
  },
  {
    name: 'an-error-forges-lines-of-its-own',
    edits: [
      { file: 'src/cli/explain.ts', find: ".replaceAll(/^/gm, '  | ')", replace: ".replaceAll(/^$/g, '')" },
    ],
    test: HOSTILE,
    by: 'hostile command lines',
  },
  {
    name: 'any-name-of-the-emulator-is-answered',
    edits: [
      { file: CALLERS, find: 'if (host !== undefined && !isOurs', replace: "if (host === '' && !isOurs" },
    ],
    test: PAGES,
    by: 'a name that was made to resolve',
  },
  {
    name: 'pages-of-other-sites-are-answered',
    edits: [
      {
        file: CALLERS,
        find: 'const isForeign = origin !== undefined && ',
        replace: "const isForeign = origin === '' && ",
      },
    ],
    test: PAGES,
    by: 'a form of another site',
  },
  {
    name: 'what-a-browser-says-of-a-page-is-ignored',
    edits: [{ file: CALLERS, find: "headers['sec-fetch-site'] === 'cross-site'", replace: 'isForeign' }],
    test: PAGES,
    by: 'as the browser says',
  },
];
