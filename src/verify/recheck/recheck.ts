/**
 * Checks candidates again, in rounds, until each is equal, explained by a dead letter or by expiry, or confirmed to
 * differ.
 *
 * Invariant: a difference is confirmed only by two checks that saw the same on both sides. Before the second check
 *   1. the mover had replicated every source change that the first check could have seen, and
 *   2. the target replica that answered knew everything that the mover had committed (by the ledger's session tokens).
 * Each round reads first the mover's progress and the dead letters, both at one moment; then the target; then the
 * source. In this order a source change that the progress covers is in the target before the target is read.
 */
import {
  readAll,
  type DocumentAddress,
  type PointAnswer,
  type PointReadsParts,
} from '../../cosmos/bulk/point-reads.ts';
import { replyScan } from '../../documents/page-scan.ts';
import { STORED_PROPERTIES } from '../../documents/system-properties.ts';
import { effectiveKey, type KeyComponent } from '../../epk/effective-key.ts';
import { Countdown, type Clock } from '../../lib/clock.ts';
import type { Ledger } from '../../state/ledger.ts';
import type { Candidate, CandidateName } from './candidate-store.ts';
import {
  classify,
  signOf,
  type LetterSeen,
  type Seen,
  type SourceSeen,
  type TargetSeen,
} from './classify.ts';
import { JsonCrossCheck } from '../pass/json-cross-check.ts';
import type { LedgerView } from '../ledger-view.ts';
import { parseKey, keyText, keyTexts } from '../document-name.ts';
import { swapped } from './find-absent.ts';
import { rowPaths, SourceRows, TargetRows, type RowOptions } from '../pass/rows.ts';
import { seeTokens, type Sides } from '../sides.ts';
import type { VerifyStore } from '../store.ts';
import { describeBehind, TailProbe, type Reach } from './tail-probe.ts';

export interface RecheckParts {
  readonly sides: Sides;
  readonly store: VerifyStore;
  readonly rows: RowOptions;
  readonly ledger: LedgerView;
  readonly clock: Clock;
  readonly gapMs: number;
  readonly deadlineMs: number;
  /** Called before each round with the number of open candidates, and with what they wait for, if that is known. */
  readonly onRound: (open: number, waitsFor: string | null) => void;
}

/** How many candidates are checked at a time. Few at first, because each document may have 2 MB on both sides. */
const [AT_ONCE_FIRST, AT_ONCE_MAX] = [4, 200];
const BYTES_AT_ONCE = 8 * 1024 * 1024;
const FIRST = Buffer.alloc(0);

type SourceFound = Exclude<SourceSeen, { is: 'gone' }> & { readonly key: readonly KeyComponent[] };
interface TargetFound {
  readonly identity: string;
  readonly slot: string;
  readonly etag: string;
  readonly content: TargetSeen['content'];
}

/** Stands for a source document that cannot be read. The pass has read it, so it must not count as deleted. */
const UNREADABLE: SourceFound = { is: 'refused', etag: '', key: [] };

export class Recheck {
  readonly #parts: RecheckParts;
  readonly #probe: TailProbe;
  readonly #source: PointReadsParts<SourceFound>;
  readonly #target: PointReadsParts<TargetFound>;
  /**
   * How many candidates are checked at a time, adapted to the sizes in the last batch. Candidates are ordered by hash,
   * so the next documents have about the same average size.
   */
  #atOnce = AT_ONCE_FIRST;

  constructor(parts: RecheckParts) {
    const { sides, rows, clock } = parts;
    this.#parts = parts;
    this.#probe = new TailProbe(sides.source, rows.rekey.plan.sourcePaths);
    this.#source = { ...sourceReads(sides, rows), clock };
    this.#target = { ...targetReads(sides, rows), clock };
  }

  /** Runs rounds until no candidate is open or the deadline has passed; returns why candidates are open, or null. */
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
      waitsFor = reach.behind.length > 0 ? 'cosmig tail' : null;
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
      // Until the mover has replicated a document's last change, another check would only cost RU.
      const due = some.filter((candidate) => candidate.fenceLsn === null || this.#isPast(candidate, reach));
      if (due.length > 0) store.candidates.set(await this.#check(due, { reach, letters, signal }));
      after = last.identity;
    }
  }

  async #check(
    some: readonly Candidate[],
    {
      reach,
      letters,
      signal,
    }: { readonly reach: Reach; readonly letters: Letters; readonly signal: AbortSignal },
  ): Promise<readonly Candidate[]> {
    const slots = some.flatMap(({ name }, i) =>
      name.targetKeys.map((texts) => ({ i, key: parseKey(texts) })),
    );
    const addressOf = (id: string, key: DocumentAddress['key']): DocumentAddress => ({
      id: Buffer.from(id),
      key,
    });
    const inTarget = slots.map(({ i, key }) => addressOf(some[i]?.name.id ?? '""', key));
    const there = await readAll(inTarget, this.#target, signal);
    const inSource = some.map(({ name }) => addressOf(name.id, parseKey(name.sourceKey)));
    const here = await readAll(inSource, this.#source, signal);
    this.#adaptBatch(some.length, [...there, ...here]);
    return some.map((candidate, i) => {
      const targets = slots.flatMap((slot, n) => {
        const found = there[n]?.value;
        const isOurs =
          slot.i === i &&
          typeof found === 'object' &&
          found.identity === candidate.identity.toString('latin1');
        return isOurs ? [{ ...found, targetKey: keyText(slot.key) }] : [];
      });
      const letter = letters.get(swapped(candidate.identity).toString('latin1')) ?? null;
      return this.#classified(candidate, { answer: here[i], targets, letter, reach });
    });
  }

  #adaptBatch(count: number, answers: ReadonlyArray<PointAnswer<SourceFound | TargetFound>>): void {
    const bytes = answers.reduce((sum, { value }) => sum + sizeOf(value), 0);
    const fitting = Math.max(1, Math.floor((BYTES_AT_ONCE * count) / Math.max(1, bytes)));
    this.#atOnce = Math.min(2 * this.#atOnce, fitting, AT_ONCE_MAX);
  }

  #classified(
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
      // The target key of the document has changed, and the slot of the new key was not checked yet.
      const targetKeys = [...name.targetKeys, keyTexts(found.key)];
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

  /** Returns whether the mover has replicated everything up to the LSN at which a check first saw this difference. */
  #isPast({ name, fenceLsn }: Candidate, reach: Reach): boolean {
    const { keyKind } = this.#parts.sides.source.facts;
    return fenceLsn !== null && reach.isPast(effectiveKey(keyKind, parseKey(name.sourceKey)), fenceLsn);
  }
}

function sizeOf(value: PointAnswer<SourceFound | TargetFound>['value']): number {
  return typeof value === 'object' && 'content' in value ? value.content.body.length : 0;
}

function whyOpen(reach: Reach): string {
  return reach.behind.length === 0 ? 'documents changed each time they were checked' : describeBehind(reach);
}

/** Returns what point reads in the source need. Their result is the document as it should be in the target. */
function sourceReads({ source }: Sides, options: RowOptions): Omit<PointReadsParts<SourceFound>, 'clock'> {
  const replies = replyScan(rowPaths(options));
  const rows = new SourceRows(replies, options);
  const crossCheck = new JsonCrossCheck('source', options.rekey, STORED_PROPERTIES);
  const keep = (row: number, etag: string): SourceFound => {
    const is = rows.read(row);
    if (is !== 'moves') return { is, etag, key: [] };
    const json = replies.bytes(row, replies.nodes.document);
    const content = {
      body: Buffer.from(rows.body()),
      crossCheck: crossCheck.text(json, rows.words),
      expiry: rows.expiry,
    };
    return { is, etag, key: [...rows.key], targetKey: keyText(rows.key), content };
  };
  return { side: source, replies, keep };
}

/** Returns what point reads in the target need. Their result is the identity and the content of the document. */
function targetReads({ target }: Sides, options: RowOptions): Omit<PointReadsParts<TargetFound>, 'clock'> {
  const replies = replyScan(rowPaths(options));
  const rows = new TargetRows(replies, options);
  const crossCheck = new JsonCrossCheck('target', options.rekey, STORED_PROPERTIES);
  const keep = (row: number, etag: string): TargetFound => {
    rows.read(row);
    const json = replies.bytes(row, replies.nodes.document);
    return {
      identity: Buffer.from(rows.words.buffer, 0, 16).toString('latin1'),
      slot: Buffer.from(rows.words.buffer, 16, 16).toString('latin1'),
      etag,
      content: {
        body: Buffer.from(rows.body(row)),
        crossCheck: crossCheck.text(json, rows.words),
        expiry: rows.expiry,
      },
    };
  };
  return { side: target, replies, keep };
}

/**
 * The dead letter of each identity. All fit into memory: `--max-dead-letters` limits open letters, and operators discard
 * letters by number.
 */
type Letters = ReadonlyMap<string, LetterSeen>;

function lettersIn({ letters, rows }: Ledger): Letters {
  const found = new Map<string, LetterSeen>();
  for (const state of ['discarded', 'open'] as const) {
    for (const { identity, reason } of letters.each(state)) {
      // What another process has written is a difference, whatever the ledger says of it.
      if (reason === 'changed-by-others') continue;
      const row = rows.find(identity);
      // A discarded letter counts only as long as its document was neither moved nor deleted.
      const counts = state === 'open' || row?.state === 'quarantined';
      const slot = row?.slot ?? null;
      if (counts)
        found.set(identity.toString('latin1'), {
          state,
          keptIn: slot === null ? null : swapped(slot).toString('latin1'),
        });
    }
  }
  return found;
}

function isKnown({ targetKeys }: CandidateName, key: readonly KeyComponent[]): boolean {
  const text = keyText(key);
  return targetKeys.some((texts) => keyText(parseKey(texts)) === text);
}
