/**
 * Owns one unit of work between its two transactions: INTENT before the first byte, COMMIT after the
 * last outcome. A page of a feed is one; so is the retry of a letter, which has no position to move.
 */
import type { Identity, Slot } from '../source.ts';
import type { Claim, Intent, Letter, Override, Row } from './ledger.ts';
import type { Process } from './process.ts';

export interface Outcome extends Claim {
  readonly seq: number;
}

export class Page {
  readonly intent: Intent;
  readonly #process: Process;
  readonly #touched = new Set<Identity>();
  readonly #segment = new Map<Identity, Outcome>();
  readonly #overrides: Override[] = [];
  /** Tasks that have no outcome yet. */
  open = 0;

  constructor(process: Process, kind: { copy: boolean }) {
    this.#process = process;
    this.intent = { seq: process.ledger.nextSeq(), copy: kind.copy, claims: [], takeovers: [] };
  }

  /** INTENT: durable before the first write is sent; called again when a point read showed another slot. */
  begin(claims: readonly Claim[]): void {
    const { ledger, tokens } = this.#process;
    if (!this.#process.lacks('session-token-not-in-intent')) ledger.keepTokens(tokens);
    if (this.#process.lacks('no-intent') || claims.length === 0) return;
    this.intent.claims.push(...claims);
    if (!ledger.intents.includes(this.intent)) ledger.intents.push(this.intent);
    if (!this.#process.lacks('intent-not-durable')) ledger.sync();
  }

  /** On the way back the intent also has to name what is written, or that the slot is emptied (`body` is null). */
  claims(id: Identity, slot: Slot, body: number | null): boolean {
    const claims = this.intent.claims.filter((claim) => claim.id === id && claim.slot === slot);
    const any = this.#process.lacks(
      body === null ? 'write-claim-covers-a-removal' : 'where-is-claimed-and-not-what',
    );
    return claims.some((claim) => any || !this.#process.keepsEtags || claim.body === body);
  }

  beginTakeover(slot: Slot, from: Identity): void {
    if (this.#process.lacks('takeover-without-intent') || this.#process.lacks('no-intent')) return;
    this.intent.takeovers.push({ slot, from });
    const { ledger } = this.#process;
    if (!ledger.intents.includes(this.intent)) ledger.intents.push(this.intent);
    ledger.sync();
  }

  /** Our copy of a document is where it belongs. Copied for the first time it goes to the segment. */
  live(claim: Claim, row: Row): void {
    if (this.intent.copy && this.#process.rowOf(claim.id) === undefined) {
      const byIntent = this.#process.lacks('override-ordered-by-intent');
      const seq = byIntent ? this.intent.seq : this.#process.ledger.nextSeq();
      this.#segment.set(claim.id, { ...claim, seq });
    } else this.row(claim.id, row);
  }

  row(id: Identity, row: Row): void {
    this.#process.rows.set(id, row);
    this.#touched.add(id);
    this.#stale.set(id, row);
  }

  letter(id: Identity, letter: Letter | null): void {
    if (this.#process.lacks('letter-waits-from-commit')) this.#lateLetters.set(id, letter);
    else this.#process.letters.set(id, letter);
    this.#touched.add(id);
  }

  override(id: Identity, slot: Slot): void {
    const override = { id, slot, seq: this.#process.ledger.nextSeq() };
    this.#overrides.push(override);
    this.#process.overrides.push(override);
  }

  /** COMMIT, together with the position, which the caller moves in the same step. */
  commit(): void {
    const { ledger, rows, letters, tokens } = this.#process;
    for (const [id, letter] of this.#lateLetters) letters.set(id, letter);
    for (const id of this.#touched) {
      const row = this.#process.lacks('commit-writes-old-outcome') ? this.#stale.get(id) : rows.get(id);
      if (row !== undefined) ledger.rows.set(id, row);
      const letter = letters.get(id);
      if (letter === null) ledger.letters.delete(id);
      else if (letter !== undefined) ledger.letters.set(id, letter);
      if (row?.state === 'tombstone' && this.#process.lacks('tombstones-dropped')) {
        ledger.rows.delete(id);
        ledger.index.delete(id);
        rows.delete(id);
      }
    }
    for (const outcome of this.#segment.values())
      ledger.segments.push({ seq: outcome.seq, claims: [outcome] });
    ledger.overrides.push(...this.#overrides);
    ledger.dropIntent(this.intent);
    if (!this.#process.lacks('session-token-not-in-intent')) ledger.keepTokens(tokens);
    if (this.#process.lacks('intent-not-durable')) ledger.sync();
  }

  /** Only for the mutations: each page's own outcome, and letters that are unknown before the commit. */
  readonly #stale = new Map<Identity, Row>();
  readonly #lateLetters = new Map<Identity, Letter | null>();
}
