/**
 * Documents that may differ are looked at again, until each of them is equal, explained, or certain to differ. What
 * always holds: a difference is confirmed only by two looks some time apart that saw the same on both sides, the second
 * of them after the mover had come past all that the first had seen of the source, and at a target that knows all that
 * the mover had committed by then, whichever replica answers (the ledger has its session tokens). In each round the
 * mover's place and the letters are asked first, of one moment, then the target, and the source last, so that what is
 * missing cannot be on its way.
 */
import {
  readAll,
  type DocumentAddress,
  type PointAnswer,
  type PointReadsParts,
} from '../../cosmos/bulk/point-reads.ts';
import { replyScan } from '../../documents/page-scan.ts';
import { effectiveKey, type KeyComponent } from '../../epk/effective-key.ts';
import { Countdown, type Clock } from '../../lib/clock.ts';
import type { Ledger } from '../../state/ledger.ts';
import type { Candidate, CandidateName } from './candidate-store.ts';
import { classify, signOf, type Seen, type SourceSeen, type TargetSeen } from './classify.ts';
import { Guard } from '../pass/json-cross-check.ts';
import type { LedgerView } from '../ledger-view.ts';
import { keyOf, placeText, textsOf } from '../document-name.ts';
import { rowPaths, SourceRows, TargetRows, type RowOptions } from '../pass/rows.ts';
import { seeTokens, type Sides } from '../sides.ts';
import type { VerifyStore } from '../store.ts';
import { TailProbe, type Reach } from './tail-probe.ts';

export interface RecheckParts {
  readonly sides: Sides;
  readonly store: VerifyStore;
  readonly rows: RowOptions;
  readonly ledger: LedgerView;
  readonly clock: Clock;
  readonly gapMs: number;
  readonly deadlineMs: number;
  /** So many are open, and what they wait for, if that is known. */
  readonly onRound: (open: number, waitsFor: string | null) => void;
}

/** Documents in memory at a time: few at first, since each may have 2 MB on both sides. */
const [AT_ONCE_FIRST, AT_ONCE_MAX] = [4, 200];
const BYTES_AT_ONCE = 8 * 1024 * 1024;
const FIRST = Buffer.alloc(0);

/** What was found where somebody looked. */
type SourceFound = Exclude<SourceSeen, { is: 'gone' }> & { readonly key: readonly KeyComponent[] };
interface TargetFound {
  readonly identity: string;
  readonly etag: string;
  readonly content: TargetSeen['content'];
}

/** A pass has shown it, so it must not be taken for one that is gone. */
const UNREADABLE: SourceFound = { is: 'refused', etag: '', key: [] };

export class Recheck {
  readonly #parts: RecheckParts;
  readonly #probe: TailProbe;
  readonly #source: PointReadsParts<SourceFound>;
  readonly #target: PointReadsParts<TargetFound>;
  /** Candidates come in the order of their hashes, so that those that come next are about as large as the last ones. */
  #atOnce = AT_ONCE_FIRST;

  constructor(parts: RecheckParts) {
    const { sides, rows, clock } = parts;
    this.#parts = parts;
    this.#probe = new TailProbe(sides.source, rows.rekey.plan.sourcePaths);
    this.#source = { ...sourceReads(sides, rows), clock };
    this.#target = { ...targetReads(sides, rows), clock };
  }

  /** Rounds until nothing is open, or the time is over; gives why something is still open. */
  async run(signal: AbortSignal): Promise<string | null> {
    const { store, clock, gapMs, deadlineMs, onRound } = this.#parts;
    const time = new Countdown(clock, deadlineMs);
    let waitsFor: string | null = null;
    for (;;) {
      const open = store.candidates.openCount();
      onRound(open, waitsFor);
      if (open === 0) return null;
      const reach = await this.#round(signal);
      const left = store.candidates.openCount();
      if (left === 0) return null;
      if (time.isOver()) return whyOpen(reach);
      waitsFor = reach.behind.length > 0 ? 'the tail' : null;
      await clock.sleep(gapMs, signal);
    }
  }

  async #round(signal: AbortSignal): Promise<Reach> {
    const { sides, ledger, store } = this.#parts;
    const { moment, rest: letters } = ledger.momentAnd(lettersIn);
    seeTokens(sides, moment);
    const reach = await this.#probe.look(moment, signal);
    for (let after: Buffer = FIRST; ;) {
      const some = store.candidates.list({ state: 'open', after, limit: this.#atOnce });
      const last = some.at(-1);
      if (last === undefined) return reach;
      // Nothing has changed for a document that the mover has not come to; looking again would only cost.
      const due = some.filter((candidate) => candidate.fenceLsn === null || this.#isPast(candidate, reach));
      if (due.length > 0) store.candidates.set(await this.#lookAt(due, { reach, letters, signal }));
      after = last.identity;
    }
  }

  async #lookAt(
    some: readonly Candidate[],
    {
      reach,
      letters,
      signal,
    }: { readonly reach: Reach; readonly letters: Letters; readonly signal: AbortSignal },
  ): Promise<readonly Candidate[]> {
    const places = some.flatMap(({ name }, i) => name.targetKeys.map((texts) => ({ i, key: keyOf(texts) })));
    const addressOf = (id: string, key: DocumentAddress['key']): DocumentAddress => ({
      id: Buffer.from(id),
      key,
    });
    const inTarget = places.map(({ i, key }) => addressOf(some[i]?.name.id ?? '""', key));
    const there = await readAll(inTarget, this.#target, signal);
    const inSource = some.map(({ name }) => addressOf(name.id, keyOf(name.sourceKey)));
    const here = await readAll(inSource, this.#source, signal);
    this.#seeSize(some.length, [...there, ...here]);
    return some.map((candidate, i) => {
      const targets = places.flatMap((place, n) => {
        const found = there[n]?.value;
        const isOurs =
          place.i === i &&
          typeof found === 'object' &&
          found.identity === candidate.identity.toString('latin1');
        return isOurs ? [{ ...found, place: placeText(place.key) }] : [];
      });
      const letter = letters.get(ledgerHash(candidate.identity)) ?? null;
      return this.#judge(candidate, { answer: here[i], targets, letter, reach });
    });
  }

  #seeSize(count: number, answers: ReadonlyArray<PointAnswer<SourceFound | TargetFound>>): void {
    const bytes = answers.reduce((sum, { value }) => sum + sizeOf(value), 0);
    const fitting = Math.max(1, Math.floor((BYTES_AT_ONCE * count) / Math.max(1, bytes)));
    this.#atOnce = Math.min(2 * this.#atOnce, fitting, AT_ONCE_MAX);
  }

  #judge(
    candidate: Candidate,
    {
      answer,
      targets,
      letter,
      reach,
    }: Pick<Seen, 'letter' | 'targets'> & {
      readonly answer: PointAnswer<SourceFound> | undefined;
      readonly reach: Reach;
    },
  ): Candidate {
    const { clock } = this.#parts;
    const { name } = candidate;
    const value = answer?.value ?? 'gone';
    const found = value === 'unreadable' ? UNREADABLE : value;
    const sinceMs = candidate.sinceMs ?? clock.now();
    if (found !== 'gone' && found.is === 'moves' && !isKnown(name, found.key)) {
      // It belongs elsewhere by now, where nobody has looked yet.
      const targetKeys = [...name.targetKeys, textsOf(found.key)];
      return { ...candidate, name: { ...name, targetKeys }, seen: null, fenceLsn: null, sinceMs };
    }
    const source: SourceSeen = found === 'gone' ? { is: 'gone' } : found;
    const seen: Seen = { source, targets, letter, nowTs: reach.nowTs };
    const finding = classify(seen);
    if (finding.is !== 'differs') return { ...candidate, state: finding.is, kind: null };
    const { kind } = finding;
    const sign = signOf(seen, finding);
    if (candidate.seen !== sign || candidate.fenceLsn === null)
      return { ...candidate, kind, seen: sign, fenceLsn: answer?.lsn ?? Number.MAX_SAFE_INTEGER, sinceMs };
    return { ...candidate, kind, state: this.#isPast(candidate, reach) ? 'confirmed' : 'open' };
  }

  /** Whether the mover has come past all that was seen of the source when this was seen. */
  #isPast({ name, fenceLsn }: Candidate, reach: Reach): boolean {
    const { keyKind } = this.#parts.sides.source.facts;
    return fenceLsn !== null && reach.isPast(effectiveKey(keyKind, keyOf(name.sourceKey)), fenceLsn);
  }
}

function sizeOf(value: PointAnswer<SourceFound | TargetFound>['value']): number {
  return typeof value === 'object' && 'content' in value ? value.content.body.length : 0;
}

function whyOpen(reach: Reach): string {
  const { behind } = reach;
  if (behind.length === 0) return 'documents changed whenever they were looked at';
  const ranges =
    behind.length === 1 ? '1 range of the source has' : `${behind.length} ranges of the source have`;
  return `${ranges} changes that were not brought over`;
}

/** Documents of the source as they should be in the target. */
function sourceReads({ source }: Sides, options: RowOptions): Omit<PointReadsParts<SourceFound>, 'clock'> {
  const replies = replyScan(rowPaths(options));
  const rows = new SourceRows(replies, options);
  const { plan, ttl } = options.rekey;
  const guard = new Guard(plan, {
    keyPaths: plan.sourcePaths,
    ttl: ttl.mode === 'restart' ? 'compared' : 'left out',
  });
  const keep = (row: number, etag: string): SourceFound => {
    const is = rows.read(row);
    if (is !== 'moves') return { is, etag, key: [] };
    const json = replies.bytes(row, replies.nodes.document);
    const content = {
      body: Buffer.from(rows.body()),
      guard: guard.text(json, rows.words),
      expiry: rows.expiry,
    };
    return { is, etag, key: [...rows.key], place: placeText(rows.key), content };
  };
  return { side: source, replies, keep };
}

/** Documents of the target, and who they are. */
function targetReads({ target }: Sides, options: RowOptions): Omit<PointReadsParts<TargetFound>, 'clock'> {
  const replies = replyScan(rowPaths(options));
  const rows = new TargetRows(replies, options);
  const { plan, ttl } = options.rekey;
  const guard = new Guard(plan, {
    keyPaths: plan.sourcePathsInTarget,
    ttl: ttl.mode === 'restart' ? 'compared' : 'left out',
  });
  const keep = (row: number, etag: string): TargetFound => {
    rows.read(row);
    const json = replies.bytes(row, replies.nodes.document);
    return {
      identity: Buffer.from(rows.words.buffer, 0, 16).toString('latin1'),
      etag,
      content: {
        body: Buffer.from(rows.body(row)),
        guard: guard.text(json, rows.words),
        expiry: rows.expiry,
      },
    };
  };
  return { side: target, replies, keep };
}

/** Who has a letter, and whether it is waived: as many as --max-dead-letters allows, and an operator has given. */
type Letters = ReadonlyMap<string, 'open' | 'discarded'>;

const LETTERS_AT_ONCE = 1000;

function lettersIn({ letters, rows }: Ledger): Letters {
  const found = new Map<string, 'open' | 'discarded'>();
  for (const state of ['discarded', 'open'] as const) {
    for (let after = 0; ;) {
      const some = letters.list({ state, after, limit: LETTERS_AT_ONCE });
      for (const { identity } of some) {
        // A waiver ends when its document was moved or deleted after all.
        const counts = state === 'open' || rows.find(identity)?.state === 'quarantined';
        if (counts) found.set(identity.toString('latin1'), state);
      }
      const last = some.at(-1);
      if (last === undefined) break;
      after = last.number;
    }
  }
  return found;
}

/** The ledger writes words the other way round. */
function ledgerHash(identity: Buffer): string {
  return Buffer.from(identity).swap32().toString('latin1');
}

function isKnown({ targetKeys }: CandidateName, key: readonly KeyComponent[]): boolean {
  const place = placeText(key);
  return targetKeys.some((texts) => placeText(keyOf(texts)) === place);
}
