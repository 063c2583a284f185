/** The rules of a comparison that must not be missing, each with the edit that takes it out and the test that must notice. */
import type { Rule } from './rule.ts';

export const VERIFY_RULES: readonly Rule[] = [
  {
    name: 'verify-takes-pages-of-the-past',
    edits: [
      {
        file: 'src/cosmos/feed/fenced-pass.ts',
        find: 'if ((page.lsn ?? -1) < reader.fenceLsn)',
        replace: 'if ((page.lsn ?? -1) < -1)',
      },
    ],
    test: 'test/integration/verify/pass/pages.test.ts',
    by: 'a page of a replica behind the fence',
  },
  {
    name: 'verify-goes-on-behind-its-end',
    edits: [
      {
        file: 'src/cosmos/feed/fenced-pass.ts',
        find: 'if (!reader.isDone || page.status === 304) reader.position',
        replace: 'reader.position',
      },
    ],
    test: 'test/integration/verify/pass/pages.test.ts',
    by: 'write behind the fence',
  },
  {
    name: 'verify-reads-children-from-the-start',
    edits: [
      {
        file: 'src/cosmos/feed/fenced-pass.ts',
        find: '      ...reader,\n      min,\n      max,',
        replace: '      ...reader,\n      position: null,\n      min,\n      max,',
      },
    ],
    test: 'test/integration/verify/pass/reads.test.ts',
    by: 'split, and a child splits again',
  },
  {
    name: 'verify-reads-on-in-another-container',
    edits: [
      {
        file: 'src/cosmos/transport/same-container.ts',
        find: 'if (answering !== undefined && !isSameContainer(rid, answering))',
        replace: "if (answering !== undefined && rid === '')",
      },
    ],
    test: 'test/unit/cosmos/transport/same-container.test.ts',
    by: 'a reply of another container',
  },
  {
    name: 'changes-not-at-the-newest',
    edits: [
      {
        file: 'src/cosmos/feed/fenced-pass.ts',
        find: 'if (this.#parts.isNewest) await',
        replace: "if (this.#parts.isNewest && part.range.id === '') await",
      },
    ],
    test: 'test/integration/verify/recheck/replication-lag.test.ts',
    by: 'change made just now',
  },
  {
    name: 'newest-as-one-replica-reports',
    edits: [
      {
        file: 'src/cosmos/feed/newest-lsn.ts',
        find: 'let asks = 0; asks < ASKS_MAX &&',
        replace: 'let asks = ASKS_MAX; asks < ASKS_MAX &&',
      },
    ],
    test: 'test/integration/verify/recheck/replication-lag.test.ts',
    by: 'change made just now',
  },
  {
    name: 'difference-without-the-mover',
    edits: [
      {
        file: 'src/verify/recheck/recheck.ts',
        find: "state: this.#isPast(candidate, reach) ? 'confirmed' : 'open'",
        replace: "state: 'confirmed'",
      },
      {
        file: 'src/verify/recheck/recheck.ts',
        find: 'some.filter((candidate) => candidate.fenceLsn === null || this.#isPast(candidate, reach))',
        replace: 'some.filter(() => true)',
      },
    ],
    test: 'test/integration/verify/recheck/unknown-progress.test.ts',
    by: 'position of the mover is too old',
  },
  {
    name: 'difference-of-two-kinds',
    edits: [
      {
        file: 'src/verify/recheck/recheck.ts',
        find: 'candidate.seen !== sign || candidate.fenceLsn === null',
        replace: 'candidate.fenceLsn === null',
      },
    ],
    test: 'test/integration/verify/recheck/recheck.test.ts',
    by: 'differs in another way each time',
  },
  {
    name: 'stranger-taken-for-ours',
    edits: [
      {
        file: 'src/verify/recheck/recheck.ts',
        find: "found.identity === candidate.identity.toString('latin1')",
        replace: "found.identity !== ''",
      },
    ],
    test: 'test/integration/verify/recheck/recheck.test.ts',
    by: 'another document in its slot',
  },
  {
    name: 'moved-document-not-followed',
    edits: [
      {
        file: 'src/verify/recheck/recheck.ts',
        find: "found.is === 'moves' && !isKnown(name, found.key)",
        replace: "found.is === 'moves' && name.id === '' && !isKnown(name, found.key)",
      },
    ],
    test: 'test/integration/verify/recheck/recheck.test.ts',
    by: 'has moved meanwhile',
  },
  {
    name: 'waiver-for-ever',
    edits: [
      {
        file: 'src/verify/recheck/recheck.ts',
        find: "const counts = state === 'open' || row?.state === 'quarantined';",
        replace: "const counts = state === 'open' || state === 'discarded';",
      },
    ],
    test: 'test/integration/verify/command/options.test.ts',
    by: 'a waiver is listed',
  },
  {
    name: 'letter-explains-a-second-copy',
    edits: [
      {
        file: 'src/verify/recheck/classify.ts',
        find: 'return targets.every(({ slot }) => slot === letter?.keptIn);',
        replace: 'return targets.length === 0 || targets.some(({ slot }) => slot === letter?.keptIn);',
      },
    ],
    test: 'test/unit/verify/recheck/classify.test.ts',
    by: 'a letter explains no',
  },
  {
    name: 'letter-explains-a-foreign-copy',
    edits: [
      {
        file: 'src/verify/recheck/classify.ts',
        find: 'return targets.every(({ slot }) => slot === letter?.keptIn);',
        replace: 'return targets.length <= 1;',
      },
    ],
    test: 'test/integration/verify/recheck/recheck.test.ts',
    by: 'nothing of it was left in the target',
  },
  {
    name: 'target-read-without-tokens',
    edits: [
      {
        file: 'src/verify/sides.ts',
        find: '  for (const { token } of targetTokens) target.sessions.add(token);\n',
        replace: '',
      },
    ],
    test: 'test/integration/verify/recheck/replication-lag.test.ts',
    by: 'document just replicated',
  },
  {
    name: 'reach-while-read-again',
    edits: [
      {
        file: 'src/verify/recheck/tail-probe.ts',
        find: "if (lease.phase !== 'tail') return nowhere;",
        replace: '',
      },
    ],
    test: 'test/integration/verify/recheck/unknown-progress.test.ts',
    by: 'mover reads a range again',
  },
  {
    name: 'reach-behind-a-split',
    edits: [
      {
        file: 'src/verify/recheck/tail-probe.ts',
        find: "if (trouble?.kind === 'split') {",
        replace: "if (trouble?.kind === 'split' && lease.rangeId === '') {",
      },
    ],
    test: 'test/integration/verify/recheck/unknown-progress.test.ts',
    by: 'was split behind the mover',
  },
  {
    name: 'reach-of-another-range',
    edits: [
      {
        file: 'src/verify/recheck/tail-probe.ts',
        find: 'findLast(({ lease }) => lease.min <= effectiveKey)',
        replace: 'findLast(({ lease }) => lease.min !== effectiveKey)',
      },
    ],
    test: 'test/integration/verify/recheck/unknown-progress.test.ts',
    by: 'progress of one range',
  },
  {
    name: 'extra-not-listed',
    edits: [
      {
        file: 'src/verify/recheck/find-candidates.ts',
        find: 'else if (original === undefined) keep(entry);',
        replace: 'else if (original === undefined) entries.delete(key);',
      },
    ],
    test: 'test/integration/verify/command/verify.test.ts',
    by: 'a duplicate under another key',
  },
  {
    name: 'guard-not-asked-behind-a-merge',
    edits: [
      {
        file: 'src/verify/recheck/find-candidates.ts',
        find: 'buckets.get(entry.bucket)?.isDoubted === true &&',
        replace: 'buckets.get(entry.bucket)?.isUnequal === false &&',
      },
    ],
    test: 'test/unit/verify/pass/planted.test.ts',
    by: 'JSON.parse sees another',
  },
  {
    name: 'runs-not-proven',
    edits: [
      {
        file: 'src/verify/recheck/find-candidates.ts',
        find: '  recount.check(buckets.keys());',
        replace: '',
      },
    ],
    test: 'test/unit/verify/pass/planted.test.ts',
    by: 'what differs. is listed',
  },
  {
    name: 'all-runs-not-proven',
    edits: [
      {
        file: 'src/verify/recheck/find-candidates.ts',
        find: '    recount.check(bucketsOf(shelf));\n',
        replace: '',
      },
    ],
    test: 'test/unit/verify/pass/planted.test.ts',
    by: 'all. is listed',
  },
  {
    name: 'compared-before-the-copy-ends',
    edits: [
      {
        file: 'src/verify/sides.ts',
        find: '  if (open === 0) return;',
        replace: '  if (open >= 0) return;',
      },
    ],
    test: 'test/integration/verify/recheck/unknown-progress.test.ts',
    by: 'before the copy has ended',
  },
  {
    name: 'counts-without-what-split',
    edits: [
      {
        file: 'src/cosmos/feed/each-range.ts',
        find: 'return ranges.readersAfter(part, { trouble, patience: splits, signal: inner });',
        replace:
          'return (await ranges.readersAfter(part, { trouble, patience: splits, signal: inner })).slice(1);',
      },
    ],
    test: 'test/integration/verify/counts/count-live.test.ts',
    by: 'splits while it is counted',
  },
  {
    name: 'counts-settled-at-once',
    edits: [
      {
        file: 'src/verify/counts/compare-counts.ts',
        find: 'before !== undefined && isUnchanged(before, look)',
        replace: 'before !== undefined || isUnchanged(look, look)',
      },
    ],
    test: 'test/integration/verify/counts/count-live.test.ts',
    by: 'two looks with different counts',
  },
  {
    name: 'changes-without-counts',
    edits: [
      {
        file: 'src/verify/pass/compare-digests.ts',
        find: 'verdict.equal !== true || counted !== null',
        replace: 'verdict.equal !== null || counted !== null',
      },
    ],
    test: 'test/integration/verify/pass/incremental.test.ts',
    by: 'counts differ',
  },
  {
    name: 'counts-explained-by-letters',
    edits: [
      {
        file: 'src/verify/counts/as-known.ts',
        find: 'sides.source.count === known.source - gone && sides.target.count === known.target - gone',
        replace: 'sides.source.count === known.source - gone && sides.source.count >= sides.target.count',
      },
    ],
    test: 'test/integration/verify/pass/incremental.test.ts',
    by: 'hides no document that lacks',
  },
  {
    name: 'counts-compared-with-each-other',
    edits: [
      {
        file: 'src/verify/counts/as-known.ts',
        find: 'sides.source.count === known.source - gone && sides.target.count === known.target - gone',
        replace: 'sides.source.count - sides.target.count === known.source - known.target',
      },
    ],
    test: 'test/integration/cutover/unannounced-deletes.test.ts',
    by: 'the counts of both sides agree',
  },
  {
    name: 'counted-behind-the-fence-of-the-changes',
    edits: [
      {
        file: 'src/verify/pass/compare-digests.ts',
        find: '      const before = isCounted ? await countNow(comparison, store) : null;\n      const verdict = await compare({ ...comparison, fresh: true }, { store, subject, since });\n',
        replace:
          '      const verdict = await compare({ ...comparison, fresh: true }, { store, subject, since });\n      const before = isCounted ? await countNow(comparison, store) : null;\n',
      },
    ],
    test: 'test/integration/verify/pass/incremental.test.ts',
    by: 'added between the fence and the count',
  },
  {
    name: 'counts-of-any-replica',
    edits: [
      {
        file: 'src/verify/counts/count-ranges.ts',
        find: 'if (isNewest) await seeNewestOf',
        replace: 'if (isNewest && part.min > part.max) await seeNewestOf',
      },
    ],
    test: 'test/integration/verify/recheck/replication-lag.test.ts',
    by: 'one replica does not show it',
  },
  {
    name: 'interruption-counts-as-reading',
    edits: [
      {
        file: 'src/verify/pass/compare-digests.ts',
        find: 'const elapsedMs = clock.monotonicMs() - readFromMs;',
        replace: 'const elapsedMs = clock.now() - begun.beganAtMs;',
      },
    ],
    test: 'test/integration/cutover/scope.test.ts',
    by: 'was interrupted for hours',
  },
  {
    name: 'changes-taken-for-all',
    edits: [
      {
        file: 'src/verify/pass/compare-digests.ts',
        find: '    begun.extent === subject.extent &&\n',
        replace: '',
      },
    ],
    test: 'test/integration/verify/pass/incremental.test.ts',
    by: 'a comparison of changes not proven',
  },
  {
    name: 'begun-of-another-spec',
    edits: [
      {
        file: 'src/verify/pass/compare-digests.ts',
        find: '    begun.fingerprint === subject.fingerprint &&\n',
        replace: '',
      },
    ],
    test: 'test/integration/verify/pass/stale-files.test.ts',
    by: 'unfinished comparison .of another spec',
  },
  {
    name: 'cutover-goes-on-with-an-old-pass',
    edits: [
      {
        file: 'src/verify/pass/compare-digests.ts',
        find: 'await compare({ ...comparison, fresh: true }, { store, subject, since: null });\n    return',
        replace: 'await compare(comparison, { store, subject, since: null });\n    return',
      },
    ],
    test: 'test/integration/verify/pass/incremental.test.ts',
    by: 'not used as a start',
  },
  {
    name: 'proof-of-another-spec',
    edits: [
      {
        file: 'src/verify/incremental.ts',
        find: 'if (proof === null || proof.fingerprint !== subject.fingerprint) return null;',
        replace: 'if (proof === null) return null;',
      },
    ],
    test: 'test/integration/verify/pass/stale-files.test.ts',
    by: 'a proof .of another spec',
  },
  {
    name: 'instants-not-compared',
    edits: [
      {
        file: 'src/verify/recheck/find-candidates.ts',
        find: 'if (!listing.hasInstants) continue;',
        replace: 'if (listing.hasInstants) continue;',
      },
    ],
    test: 'test/integration/verify/recheck/expiry.test.ts',
    by: 'ttl 100 instead of',
  },
  {
    name: 'instants-of-unequal-buckets-not-compared',
    edits: [
      {
        file: 'src/verify/recheck/find-candidates.ts',
        find: 'listing.hasInstants && !isNear(original.lastWord, entry.lastWord)',
        replace: 'listing.hasInstants && entry.lastWord < 0',
      },
    ],
    test: 'test/unit/verify/recheck/instants.test.ts',
    by: 'bucket that also differs',
  },
  {
    name: 'instants-of-rewritten-originals-not-compared',
    edits: [
      {
        file: 'src/verify/recheck/instants.ts',
        find: 'return own[cell + INSTANT] === instant;',
        replace: 'return true;',
      },
    ],
    test: 'test/unit/verify/recheck/instants.test.ts',
    by: 'read twice',
  },
  {
    name: 'default-of-the-target-not-counted',
    edits: [
      {
        file: 'src/verify/pass/expiry.ts',
        find: 'expiryOf(scan, row, defaultTtl ?? OFF)',
        replace: 'expiryOf(scan, row, Math.min(defaultTtl ?? OFF, OFF))',
      },
    ],
    test: 'test/integration/verify/recheck/expiry.test.ts',
    by: 'by the default of the target',
  },
  {
    name: 'property-hidden-in-the-proof-before-not-looked-for',
    edits: [
      {
        file: 'src/verify/pass/compare-digests.ts',
        find: 'since?.knowsHidden === true ||',
        replace: 'since !== null ||',
      },
    ],
    test: 'test/integration/verify/recheck/hidden-properties.test.ts',
    by: 'was proven without it',
  },
  {
    name: 'property-hidden-by-the-feed-not-looked-for',
    edits: [
      {
        file: 'src/verify/pass/compare-digests.ts',
        find: '(await listHidden({ sides, store, rows, isRequired: isNewest, signal }));',
        replace: 'isNewest || rows !== undefined || listHidden === undefined;',
      },
    ],
    test: 'test/integration/verify/recheck/hidden-properties.test.ts',
    by: 'which the copy lost',
  },
  {
    name: 'proof-of-another-target-ttl',
    edits: [
      {
        file: 'src/verify/incremental.ts',
        find: "memberOf(details, 'targetTtl') !== subject.targetTtl",
        replace: 'false',
      },
    ],
    test: 'test/integration/verify/recheck/expiry.test.ts',
    by: 'changed after a clean comparison',
  },
  {
    name: 'begun-with-another-target-ttl',
    edits: [
      {
        file: 'src/verify/pass/compare-digests.ts',
        find: 'begun.targetTtl === subject.targetTtl;',
        replace: 'true;',
      },
    ],
    test: 'test/integration/verify/recheck/expiry.test.ts',
    by: 'it starts from scratch',
  },
  {
    name: 'verify-with-another-ttl',
    edits: [
      {
        file: 'src/verify/sides.ts',
        find: 'containers !== null && containers.sourceTtl !== defaultTtl',
        replace: 'containers !== null && defaultTtl === undefined',
      },
    ],
    test: 'test/integration/verify/recheck/expiry.test.ts',
    by: 'TTL of the source was changed',
  },
  {
    name: 'originals-without-expiry-are-not-compared',
    edits: [
      {
        file: 'src/verify/pass/compare-digests.ts',
        find: "      spec.ttl === 'remaining' && source.facts.defaultTtl === null && target.facts.defaultTtl !== null,",
        replace: '      target.facts.defaultTtl === 0,',
      },
    ],
    test: 'test/integration/verify/recheck/expiry.test.ts',
    by: 'without a default',
  },
  {
    name: 'a-small-sample-proves-that-no-copy-expires',
    edits: [
      {
        file: 'src/preflight/findings.ts',
        find: "(sample.withTtl > 0 || spec.ttl === 'remaining')",
        replace: 'sample.withTtl > 0',
      },
    ],
    test: 'test/unit/preflight/findings.test.ts',
    by: 'no sampled ttl',
  },
  {
    name: 'an-absent-document-stays-absent',
    edits: [
      {
        file: 'src/verify/counts/as-known.ts',
        find: 'known.live.filter((identity) => !candidates.has(swapped(identity))).length',
        replace: 'known.live.length',
      },
    ],
    test: 'test/integration/turns/absent.test.ts',
    by: 'created again',
  },
  {
    name: 'absent-documents-outlive-what-was-seen',
    edits: [
      {
        file: 'src/verify/proof-record.ts',
        find: "    if (extent === 'changes') this.#sql.dropSeen.run();\n    else {",
        replace: "    if (extent === 'all') {",
      },
    ],
    test: 'test/unit/verify/store.test.ts',
    by: 'until a change is seen',
  },
];
