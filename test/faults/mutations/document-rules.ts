/** The rules about documents and their keys, each with the edit that takes it out and the test that must notice. */
import type { Rule } from './rule.ts';

export const DOCUMENT_RULES: readonly Rule[] = [
  {
    name: 'object-as-part-of-an-identity',
    edits: [
      {
        file: 'src/documents/identity.ts',
        find: 'if (isComposite(page, start)) this.#word(MISSING);',
        replace: "if (isComposite(page, start)) this.add(page.toString('latin1', start, end));",
      },
    ],
    test: 'test/unit/documents/identity.test.ts',
    by: 'the last of three',
  },
  {
    name: 'object-in-a-name',
    edits: [
      {
        file: 'src/documents/scalar.ts',
        find: 'return start === 0 || isComposite(scan.page, start) ? 0 : start;',
        replace: 'return start;',
      },
    ],
    test: 'test/integration/tail/object-keys.test.ts',
    by: 'an object in place of the source key, and a crash',
  },
  {
    name: 'object-as-target-key-refused',
    edits: [
      {
        file: 'src/keys/strategies/property.ts',
        find: "value === composite ? { kind: 'missing', path, composite: true } : asKey(path, value),",
        replace: 'asKey(path, value),',
      },
    ],
    test: 'test/unit/keys/plan.test.ts',
    by: 'object or an array at a key path',
  },
  {
    name: 'stranger-taken-over-by-the-copy',
    edits: [
      {
        file: 'src/engine/apply/put-in-slot.ts',
        find: "if (ours === 'unknown' && !(await hasCopied(context, seen.identity, slot))) return FOREIGN;",
        replace: '',
      },
    ],
    test: 'test/integration/copy/strangers.test.ts',
    by: 'a document of another program',
  },
  {
    name: 'own-copy-taken-for-a-stranger',
    edits: [
      {
        file: 'src/state/segments/segment-search.ts',
        find: 'if (base === null) return true;',
        replace: 'if (base === null || base > 0) return false;',
      },
    ],
    test: 'test/integration/copy/strangers.test.ts',
    by: 'its slot is taken over',
  },
  {
    name: 'long-integers-of-changes-not-counted',
    edits: [
      {
        file: 'src/engine/tail/change-page.ts',
        find: "unit.count('longIntegers', longIntegers);",
        replace: "unit.count('longIntegers', Math.min(0, longIntegers));",
      },
    ],
    test: 'test/integration/verify/command/long-integers.test.ts',
    by: 'counted by copy, tail, status and verify',
  },
  {
    name: 'long-integers-of-plain-rows-not-counted',
    edits: [
      {
        file: 'src/verify/pass/side-sums.ts',
        find: '      entry: (row, atWord, sizeBytes) => {\n        if (scan.hasLongInteger(row)) this.longIntegers += 1;\n',
        replace: '      entry: (row, atWord, sizeBytes) => {\n',
      },
    ],
    test: 'test/integration/verify/command/long-integers.test.ts',
    by: 'counted by copy, tail, status and verify',
  },
  {
    name: 'sweep-forgotten-while-more-is-missed',
    edits: [
      {
        file: 'src/workflows/repair.ts',
        find: 'before.number === number && before.misses === misses',
        replace: 'before.number === number && misses >= 0',
      },
    ],
    test: 'test/integration/verify/command/repair.test.ts',
    by: 'a rename while it compares',
  },
  {
    name: 'goes-back-and-not-forth-again',
    edits: [
      {
        file: 'src/keys/back-plan.ts',
        find: 'if (path === this.keptPath || (replaced >= 0 && values[replacedAt + replaced] === value)) continue;',
        replace:
          'if (path === this.keptPath || replaced >= -1 || values[replacedAt + replaced] === value) continue;',
      },
    ],
    test: 'test/unit/keys/turns.test.ts',
    by: 'comes forth again',
  },
  {
    name: 'property-of-the-application-taken-out',
    edits: [
      {
        file: 'src/keys/remover.ts',
        find: 'if (isComposite(page, start) || decodeScalar(page, start, end) !== value) return false;',
        replace:
          'if (isComposite(page, start) || decodeScalar(page, start, end) === undefined) return false;',
      },
    ],
    test: 'test/unit/keys/turns.test.ts',
    by: 'written by the application',
  },
  {
    name: 'comma-taken-out-twice',
    edits: [
      {
        file: 'src/keys/remover.ts',
        find: 'const isFirst = page[before] === 0x7b || cutBefore !== undefined || before < taken;',
        replace: 'const isFirst = page[before] === 0x7b || (cutBefore === undefined && before < taken);',
      },
    ],
    test: 'test/unit/keys/turns.test.ts',
    by: 'between system properties',
  },
  {
    name: 'derivation-wins-after-the-first-turn',
    edits: [
      {
        file: 'src/keys/plan.ts',
        find: 'this.presentPaths = presentWins ? notReplaced(draft) : [];',
        replace: 'this.presentPaths = presentWins ? notReplaced(draft).slice(1) : [];',
      },
    ],
    test: 'test/unit/keys/turns.test.ts',
    by: 'comes forth again',
  },
  {
    name: 'rewritten-ttl-compared-after-the-first-turn',
    edits: [
      {
        file: 'src/keys/removal.ts',
        find: 'if (this.#ignoresTtl) this.#values[additionPaths.length]',
        replace: 'if (!this.#ignoresTtl) this.#values[additionPaths.length]',
      },
    ],
    test: 'test/unit/verify/pass/turns.test.ts',
    by: 'equal sums and names',
  },
  {
    name: 'document-without-a-new-key-expected',
    edits: [
      {
        file: 'src/verify/pass/side-sums.ts',
        find: "if (target.read(row) === 'none') return;",
        replace: 'target.read(row);',
      },
    ],
    test: 'test/unit/verify/pass/turns.test.ts',
    by: 'is in no sum on the way back',
  },
];
