/**
 * Owns the promises P1 and P3 as something to check at a quiet moment: the application has stopped and the mover has
 * ended. It looks at the texts in both containers, the open dead letters and what the application has recorded; it shares
 * no code with cosmig.
 */
import { DOCUMENT_BYTES_MAX } from './documents.ts';
import { ownMembers, type Member } from './json.ts';
import { addedPaths, expectedOf, identityText, orMissing, valueAt, type Expected } from './keys.ts';
import type { Scenario } from './scenario.ts';

/** An open dead letter, as the ledger has it. */
export interface OpenLetter {
  readonly identity: string;
  readonly reason: string;
  /** Null where the document has no key. */
  readonly targetKey: readonly unknown[] | null;
}

export interface Situation {
  readonly scenario: Pick<
    Scenario,
    'sourceKey' | 'key' | 'missingKey' | 'deletes' | 'ttl' | 'defaultTtl' | 'uniqueKeys'
  >;
  /** Texts of every document there is. */
  readonly source: readonly string[];
  readonly target: readonly string[];
  readonly letters: readonly OpenLetter[];
  /** What others wrote into the target, as it was then. */
  readonly strangers: readonly string[];
  /** Every text that a document may have had, by identity. */
  readonly versions: ReadonlyMap<string, ReadonlySet<string>>;
}

interface Live {
  readonly identity: string;
  readonly id: string;
  readonly text: string;
  readonly members: readonly Member[];
  readonly expected: Expected;
  /** Where it must be; undefined when it has no key. */
  readonly slot: string | undefined;
}

interface Copy {
  readonly identity: string;
  readonly slot: string;
  readonly text: string;
  readonly members: readonly Member[];
  readonly parsed: unknown;
}

/**
 * How far apart two expiries of one document may be: both sides round to seconds, dates do too, and while faults fire a
 * request and the reply with the time may each be late by a second and a bit.
 */
const TTL_SLACK_SECONDS = 5;
/** Sizes are counted with and without what the service adds; a difference of these few bytes is allowed. */
const SIZE_SLACK_BYTES = 300;

/** Everything that is wrong, in words. */
export function judge(situation: Situation): string[] {
  return new Judge(situation).run();
}

class Judge {
  readonly #situation: Situation;
  readonly #live = new Map<string, Live>();
  /** Copies by whose they are, and by where they are. */
  readonly #copies = new Map<string, Copy[]>();
  readonly #bySlot = new Map<string, Copy>();
  readonly #strangers = new Map<string, Copy>();
  readonly #letters = new Map<string, OpenLetter>();
  readonly #wrong: string[] = [];

  constructor(situation: Situation) {
    this.#situation = situation;
    const { scenario, source, target, letters } = situation;
    for (const text of source) {
      const live = liveOf(scenario, text);
      if (live !== undefined) this.#live.set(live.identity, live);
    }
    for (const text of target) {
      const copy = copyOf(scenario, text);
      if (valueAt(copy.parsed, '/stranger') !== undefined) {
        this.#strangers.set(copy.slot, copy);
        continue;
      }
      this.#bySlot.set(copy.slot, copy);
      this.#copies.set(copy.identity, [...(this.#copies.get(copy.identity) ?? []), copy]);
    }
    for (const letter of letters) {
      if (this.#letters.has(letter.identity)) this.#say(letter.identity, 'has two open letters');
      this.#letters.set(letter.identity, letter);
    }
  }

  run(): string[] {
    for (const live of this.#live.values()) this.#judgeLive(live);
    for (const [identity, copies] of this.#copies) {
      if (copies.length > 1)
        this.#say(identity, `is in the target ${copies.length} times: ${slotsOf(copies)}`);
      if (!this.#live.has(identity)) for (const copy of copies) this.#judgeExtra(copy);
    }
    for (const text of this.#situation.strangers) this.#judgeStranger(copyOf(this.#situation.scenario, text));
    for (const letter of this.#letters.values()) {
      if (!this.#live.has(letter.identity) && !this.#mayLinger(letter.identity))
        this.#say(letter.identity, `is gone, and its letter (${letter.reason}) is open`);
    }
    return this.#wrong;
  }

  #judgeStranger({ slot, members }: Copy): void {
    const found = this.#strangers.get(slot);
    if (found === undefined) return this.#say(slot, 'held a foreign document, which is gone');
    const shown = (each: readonly Member[]): string => each.map(({ name, text }) => `${name}:${text}`).join();
    if (shown(found.members) !== shown(members))
      this.#say(slot, `is a stranger's, and was changed: ${clip(found.text)}`);
  }

  #judgeLive(live: Live): void {
    const { identity, expected, slot } = live;
    const copies = this.#copies.get(identity) ?? [];
    const letter = this.#letters.get(identity);
    const astray = copies.filter((copy) => copy.slot !== slot);
    if (astray.length > 0)
      this.#say(
        identity,
        `belongs ${slot === undefined ? 'nowhere' : `to ${slot}`}, and a copy is at ${slotsOf(astray)}`,
      );
    const copy = copies.find((each) => each.slot === slot);
    const difference = copy === undefined ? undefined : this.#difference(live, copy);
    if (letter === undefined) {
      if (expected.kind === 'refused')
        this.#say(identity, `cannot be moved (${expected.reason}), and has no letter`);
      else if (copy === undefined)
        this.#say(identity, `is lost; it belongs to ${slot ?? 'nowhere'}: ${clip(live.text)}`);
      else if (difference !== undefined) this.#say(identity, difference);
      return;
    }
    if (copy !== undefined && difference === undefined)
      this.#say(identity, `is where it belongs, and its letter (${letter.reason}) is open`);
    const untrue = this.#untruth(live, letter, copy);
    if (untrue !== undefined)
      this.#say(identity, `has a letter (${letter.reason}), but ${untrue}: ${clip(live.text)}`);
  }

  /** Why a letter's reason is not true; undefined when it is. */
  #untruth(live: Live, letter: OpenLetter, copy: Copy | undefined): string | undefined {
    const { scenario } = this.#situation;
    const { expected, slot = '' } = live;
    if (expected.kind === 'refused')
      return expected.reason === letter.reason
        ? undefined
        : `it cannot be moved for another reason (${expected.reason})`;
    if (letter.targetKey === null) return 'it names no key, and there is one';
    if (identityText(live.id, letter.targetKey) !== slot)
      return `it speaks of ${JSON.stringify(letter.targetKey)}, and the key is ${slot}`;
    switch (letter.reason) {
      case 'collision': {
        const holder = this.#bySlot.get(slot);
        if (holder === undefined) return `no document holds ${slot}`;
        if (holder.identity === live.identity) return 'the slot is its own';
        return this.#holds(holder) ? undefined : `${holder.identity} no longer belongs to ${slot}`;
      }
      case 'foreign-document':
        return this.#strangers.has(slot) ? undefined : `no stranger is at ${slot}`;
      case 'unique-key': {
        if (!scenario.uniqueKeys) return 'the target has no unique keys';
        if (copy !== undefined) return 'a stale version of it stays and keeps its unique value';
        const value = uniqueText(live.members);
        const rival = [...this.#bySlot.values()].find(
          (other) =>
            other.identity !== live.identity &&
            keyOfCopy(scenario, other) === JSON.stringify(expected.levels.map(orMissing)) &&
            uniqueText(other.members) === value,
        );
        if (rival === undefined) return `no document under its key has the value ${value}`;
        return this.#holds(rival)
          ? undefined
          : `${rival.identity}, which has the value, no longer belongs to ${rival.slot}`;
      }
      case 'too-large': {
        const size = expectedBytes(live);
        return size > DOCUMENT_BYTES_MAX - SIZE_SLACK_BYTES ? undefined : `it has ${size} bytes`;
      }
      default:
        return 'nothing in it is a reason for that';
    }
  }

  /** Whether the source puts this copy's document there. A deleted one that no feed reports counts. */
  #holds({ identity, slot }: Copy): boolean {
    const live = this.#live.get(identity);
    return live === undefined ? this.#mayLinger(identity) : live.slot === slot;
  }

  /** A copy of a document that is not there. */
  #judgeExtra(copy: Copy): void {
    const { identity, slot } = copy;
    const versions = this.#situation.versions.get(identity);
    if (versions === undefined)
      return this.#say(identity, `is at ${slot}, and was never written: ${clip(copy.text)}`);
    if (!this.#mayLinger(identity))
      return this.#say(identity, `is gone, and a copy is at ${slot}: ${clip(copy.text)}`);
    const isKnown = [...versions].some((text) => {
      const version = liveOf({ ...this.#situation.scenario, deletes: 'reconcile' }, text);
      return version?.slot === slot && this.#difference(version, copy) === undefined;
    });
    if (!isKnown)
      this.#say(identity, `is gone, and the copy at ${slot} is none of its versions: ${clip(copy.text)}`);
  }

  /** Whether a document may be gone without any feed having reported it. */
  #mayLinger(identity: string): boolean {
    const { scenario, source } = this.#situation;
    if (scenario.deletes === 'reconcile') return true;
    // A feed reports a mark, but not an expiry.
    if (scenario.deletes !== 'marker' || scenario.ttl === 'none') return false;
    return !source.some((text) => sourceIdentity(scenario, JSON.parse(text)) === identity);
  }

  /** What is wrong with a copy that is where it belongs. */
  #difference(live: Live, copy: Copy): string | undefined {
    const { scenario } = this.#situation;
    const { expected } = live;
    if (expected.kind !== 'key') return 'it should not be there';
    const isTtlRewritten = scenario.ttl === 'remaining';
    const added = new Set(addedPaths(scenario.key).map((path) => path.slice(1)));
    const carried = (members: readonly Member[]): string =>
      members
        .filter(({ name }) => !added.has(name) && !(isTtlRewritten && name === 'ttl'))
        .map(({ name, text }) => `${JSON.stringify(name)}:${text}`)
        .join();
    if (carried(live.members) !== carried(copy.members))
      return `differs at ${copy.slot}: ${clip(copy.text)} instead of ${clip(live.text)}`;
    for (const [path, value] of expected.additions) {
      const members = copy.members.filter(({ name }) => name === path.slice(1));
      if (members.length !== 1 || JSON.stringify(valueAt(copy.parsed, path)) !== JSON.stringify(value))
        return `has not ${JSON.stringify(value)} at ${path}: ${clip(copy.text)}`;
    }
    for (const name of added) {
      if (!expected.additions.has(`/${name}`) && copy.members.some((member) => member.name === name))
        return `has a ${name} that was never written: ${clip(copy.text)}`;
    }
    return isTtlRewritten ? this.#ttlDifference(live, copy) : undefined;
  }

  #ttlDifference(live: Live, copy: Copy): string | undefined {
    const { defaultTtl } = this.#situation.scenario;
    const source: unknown = JSON.parse(live.text);
    const own = valueAt(source, '/ttl') ?? defaultTtl;
    const given = valueAt(copy.parsed, '/ttl');
    // A text of the log has no time: its expiry is unknown.
    const from = valueAt(source, '/_ts');
    if (typeof from !== 'number' || from === 1) return undefined;
    if (typeof own !== 'number' || own <= 0) {
      const isKept = JSON.stringify(given) === JSON.stringify(valueAt(source, '/ttl'));
      return isKept ? undefined : `never expires, and its copy has ttl ${JSON.stringify(given)}`;
    }
    const at = Number(valueAt(copy.parsed, '/_ts')) + Number(given) - (from + own);
    return Math.abs(at) <= TTL_SLACK_SECONDS
      ? undefined
      : `expires ${at} s too late: ${clip(copy.text)} of ${clip(live.text)}`;
  }

  #say(identity: string, what: string): void {
    this.#wrong.push(`${identity} ${what}`);
  }
}

/** A document of the source that must be in the target; undefined when it is marked as deleted. */
function liveOf(scenario: Situation['scenario'], text: string): Live | undefined {
  const parsed: unknown = JSON.parse(text);
  if (scenario.deletes === 'marker' && valueAt(parsed, '/isDeleted') === true) return undefined;
  const id = String(valueAt(parsed, '/id'));
  const expected = expectedOf(scenario, parsed);
  return {
    identity: sourceIdentity(scenario, parsed),
    id,
    text,
    members: ownMembers(text),
    expected,
    slot: expected.levels === undefined ? undefined : identityText(id, expected.levels),
  };
}

export function sourceIdentity({ sourceKey }: Pick<Scenario, 'sourceKey'>, parsed: unknown): string {
  return identityText(
    valueAt(parsed, '/id'),
    sourceKey.map((path) => valueAt(parsed, path)),
  );
}

/** Whose a document of the target is: the source key is still in it, or where it is kept. */
export function copyIdentity(
  { sourceKey, key }: Pick<Scenario, 'sourceKey' | 'key'>,
  parsed: unknown,
): string {
  return identityText(
    valueAt(parsed, '/id'),
    sourceKey.map((path) => valueAt(parsed, key.keepSourceKeyAs ?? path)),
  );
}

function copyOf(scenario: Situation['scenario'], text: string): Copy {
  const parsed: unknown = JSON.parse(text);
  return {
    identity: copyIdentity(scenario, parsed),
    slot: identityText(
      valueAt(parsed, '/id'),
      scenario.key.partitionKey.map((path) => valueAt(parsed, path)),
    ),
    text,
    members: ownMembers(text),
    parsed,
  };
}

function keyOfCopy({ key }: Situation['scenario'], { parsed }: Copy): string {
  return JSON.stringify(key.partitionKey.map((path) => orMissing(valueAt(parsed, path))));
}

function uniqueText(members: readonly Member[]): string {
  return members.find(({ name }) => name === 'unique')?.text ?? 'none';
}

/** Bytes of the target document, without what the service adds. */
function expectedBytes({ members, expected }: Live): number {
  const additions =
    expected.kind === 'key'
      ? [...expected.additions].map(([path, value]) => `"${path.slice(1)}":${JSON.stringify(value)}`)
      : [];
  const texts = [...members.map(({ name, text }) => `${JSON.stringify(name)}:${text}`), ...additions];
  return Buffer.byteLength(`{${texts.join()}}`);
}

function slotsOf(copies: readonly Copy[]): string {
  return copies.map(({ slot }) => slot).join(' and ');
}

function clip(text: string): string {
  return text.length <= 500 ? text : `${text.slice(0, 300)}...${text.slice(-200)}`;
}
