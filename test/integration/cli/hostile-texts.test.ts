/**
 * Attacks the terminal through every text that others choose: ids, key values, names of containers, messages of the
 * account, command lines, paths and files. What each command writes is searched for bytes, by a list of its own.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { Move, type Order } from '../../helpers/migration/move.ts';
import { envOf, PLACES, SPEC, typed } from '../../helpers/migration/typed.ts';
import { CosmigRun, runCosmig, type Ran } from '../../helpers/run-cosmig.ts';
import { HANGS_MS, until, within } from '../../helpers/wait.ts';

/** Code points that a terminal obeys, or that hide or reorder the text around them. */
const FORBIDDEN: ReadonlyArray<readonly [first: number, last: number]> = [
  [0x00, 0x08], // C0 without the tab and the line feed
  [0x0b, 0x1f],
  [0x7f, 0x9f], // delete and C1, with U+009B, which begins a sequence
  [0xad, 0xad], // soft hyphen
  [0x34f, 0x34f], // joins without width
  [0x61c, 0x61c], // directions of text
  [0x115f, 0x1160], // letters that are blank
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xd800, 0xdfff], // half a pair
  [0xfe00, 0xfe0f], // variants of the character before
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xe0000, 0xe0fff], // tags
];

const HOSTILE =
  '\u001b[2J\u001b]0;title\u0007\u009b31m\u009d0;x\u009c\u007f\u202eevil\u2066\u2069\u200b\u200d\u2060\ufeff\u00ad\u3164\ufe0f\u{e0041}';
/** What a text may forge: a line of its own, which looks like one of ours. */
const FORGED = 'FORGED all is equal';
const ID = `id${HOSTILE}\r\n${FORGED}\n`;

function attacksIn(text: string): string[] {
  const found = new Set<string>();
  for (const mark of text) {
    const code = mark.codePointAt(0) ?? 0;
    if (FORBIDDEN.some(([first, last]) => code >= first && code <= last)) found.add(code.toString(16));
  }
  if (text.split('\n').some((line) => line.trim().startsWith(FORGED))) found.add('a forged line');
  return [...found];
}

const ATTACKED = ['evil', FORGED];
/** Runs whose output did repeat a hostile text; a test that meets none proves nothing. */
const repeated: string[] = [];

/** Holds that nothing hostile was written; returns the run. */
function clean(name: string, ran: Ran, ...files: readonly string[]): Ran {
  const texts = [ran.stdout, ran.stderr, ...files.map((file) => readFileSync(file, 'utf8'))];
  expect([name, texts.flatMap(attacksIn)]).toEqual([name, []]);
  expect([name, ran.code === 70, ran.stderr]).toEqual([name, false, ran.stderr]);
  if (texts.some((text) => ATTACKED.some((word) => text.includes(word)))) repeated.push(name);
  return ran;
}

const FORMATS = [[], ['--json'], ['--verbose']] as const;

test('hostile command lines -> nothing of them reaches the terminal as it is', async () => {
  const folder = mkdtempSync(join(tmpdir(), `cosmig-hostile-`));
  const bad = `x${HOSTILE}\n${FORGED}`;
  const file = join(folder, `f\u001b[2J\u202eevil`);
  const spec = ['--source', 'a/b', '--target', 'a/c', '--partition-key', '/t'];
  writeFileSync(join(folder, 'bad.yaml'), '"sour\\e[2J\\u202eevil": 1\nkey: "\\e[2Jevil"\n');
  writeFileSync(join(folder, 'broken.json'), `{"source": \u001b[2J\u202eevil`);
  writeFileSync(
    file,
    `{"id":${JSON.stringify(ID)},"t":${JSON.stringify(HOSTILE)}}\n{"id":"\u202eevil","t":[]}\nnot \u001b[2Jevil\n`,
  );
  const lines: ReadonlyArray<readonly string[]> = [
    [bad],
    ['dead-letters', bad],
    ['copy', bad],
    ['copy', `--${bad}`],
    ['copy', `--sourc${HOSTILE}evil`],
    ['copy', ...spec, '--ledger', `${folder}/no/${bad}`],
    ['copy', ...spec, '--ledger', `/dev/null/${bad}`],
    ['copy', ...spec, '--config', bad],
    ['copy', '--config', join(folder, 'bad.yaml')],
    ['copy', '--config', join(folder, 'broken.json')],
    ['copy', ...spec, '--deletes', bad],
    ['copy', ...spec, '--ttl', bad],
    ['copy', ...spec, '--source-endpoint', `https://${bad}/`],
    ['copy', '--source', bad, '--target', `${bad}/y/z`, '--partition-key', bad],
    ['copy', ...spec, '--derive', `/t={/a|${bad}}`],
    ['tail', ...spec, '--for', bad],
    ['verify', ...spec, '--level', bad],
    ['verify', ...spec, '--report', `${folder}/no/${bad}`],
    ['status', '--ledger', `${folder}/no/${bad}`],
    ['dead-letters', 'show', bad, '--ledger', file],
    ['key', '--partition-key', '/t', file],
    ['key', '--partition-key', '/t', `${folder}/${bad}`],
    ['key', '--partition-key', `/${bad}`, file],
    ['emulator', '--port', bad],
    ['emulator', '--port', '0', '--data', `/dev/null/${bad}`],
    ['emulator', '--key', bad],
    ['emulator', '--host', bad],
    ['doctor', ...spec, '--probe', bad],
    ['help', bad],
  ];
  try {
    for (const line of lines) {
      for (const format of FORMATS) {
        const argv = [...line, ...format];
        clean(
          [...line.slice(0, 2), ...line.slice(-2), ...format].map((word) => JSON.stringify(word)).join(' '),
          await within(runCosmig(argv, { clock: systemClock }), HANGS_MS, argv.join(' ')),
        );
      }
    }
    const env = { COSMIG_SOURCE: bad, COSMIG_TTL: bad, COSMIG_SOURCE_CONNECTION_STRING: bad };
    clean('the environment', await runCosmig(['copy'], { env, clock: systemClock }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  expect(repeated.length).toBeGreaterThan(lines.length);
});

const TENANT = `t${HOSTILE}\n${FORGED}`;
const document = (n: number, more: object = {}): Order => ({
  id: `${n}${ID}`,
  customerId: `c${HOSTILE}`,
  tenantId: TENANT,
  ...more,
});

/** Ten documents, of which two collide under the new key and one has no key. */
async function hostileMove(): Promise<Move> {
  const move = await Move.open();
  for (let n = 0; n < 8; n += 1) await move.put(document(n));
  await move.put(document(1, { customerId: `d${ID}` }), document(9, { tenantId: { [HOSTILE]: 1 } }));
  return move;
}

/** Runs a command in each format; it must end with this code. */
async function attack(move: Move, line: string, code: number, ...flags: readonly string[]): Promise<void> {
  for (const format of FORMATS) {
    const argv = [...line.split(' '), ...flags, ...format];
    const ran = clean(argv.join(' '), await within(typed(move, ...argv), HANGS_MS, line));
    expect([argv, ran.stderr, ran.code]).toEqual([argv, ran.stderr, code]);
  }
}

test('hostile ids and key values, a migration with every command -> none writes them as they are', async () => {
  await using move = await hostileMove();
  await attack(move, 'doctor', 0, ...SPEC);
  await attack(move, 'copy --dry-run --yes', 0, ...SPEC);
  await attack(move, 'copy --yes', 5, ...SPEC);
  await move.put(document(2, { n: HOSTILE }));
  await attack(move, 'tail --until-caught-up', 5, ...SPEC);
  await attack(move, 'status', 0);
  await attack(move, 'dead-letters list', 0);
  await attack(move, 'dead-letters show 1', 0);
  await attack(move, 'dead-letters show 1 --document', 0, ...PLACES);
  await attack(move, 'dead-letters retry 1', 5, ...SPEC);

  // Differences of every kind, by name, in the text and in the report.
  const report = `${move.ledgerPath}.report.json`;
  await move.target.item(`3${ID}`, TENANT).delete();
  await move.target.item(`4${ID}`, TENANT).replace({ ...document(4), [HOSTILE]: 2 });
  await move.target.items.create(document(20));
  await attack(move, 'verify --fresh', 4, ...SPEC, '--report', report);
  expect(attacksIn(readFileSync(report, 'utf8'))).toEqual([]);
  expect(readFileSync(report, 'utf8')).toContain(FORGED);
  await attack(move, 'verify --repair', 0, ...SPEC);
});

test('hostile ids and key values, a refusal by a document -> its name is not written as it is', async () => {
  await using move = await hostileMove();
  await attack(move, 'copy --yes --on-collision fail', 5, ...SPEC);
  await using other = await hostileMove();
  await attack(other, 'copy --yes --missing-key fail', 5, ...SPEC);
  expect(repeated.filter((name) => name.includes(' fail ')).length).toBeGreaterThan(2);
});

test('hostile ids and key values, writers that do not stop -> a cutover does not write them as they are', async () => {
  await using move = await Move.open();
  await move.put(document(1));
  await attack(move, 'copy --yes', 0, ...SPEC);
  await attack(move, 'verify', 0, ...SPEC);
  let n = 30;
  const write = async (): Promise<void> => move.put(document((n += 1)));
  const writing = setInterval(() => void write(), 150);
  try {
    await attack(
      move,
      'cutover --writers-stopped --quiet-for 1s --deadline 3s --watch-writes 1s',
      3,
      ...SPEC,
    );
  } finally {
    clearInterval(writing);
  }
  const argv = ['cutover', ...SPEC, '--writers-stopped', '--quiet-for', '1s', '--watch-writes', '3s'];
  const cut = new CosmigRun(argv, { env: envOf(move), clock: systemClock });
  const status = async (): Promise<string> => (await typed(move, 'status', '--json')).stdout;
  await until(async () => (await status()).includes('"committed"'), { what: 'a commit' });
  await write();
  expect(clean('cutover', await cut.ended).stderr).toContain('LATE WRITE');
  await attack(move, 'status', 0);
});

test('hostile messages of the account -> no command writes them as they are', async () => {
  await using move = await hostileMove();
  const message = `no${HOSTILE}\n${FORGED}`;
  // The first ones look for permissions and reserve the target.
  await move.admin.faults([{ match: { op: 'create' }, after: 3, effect: { status: 400, message } }]);
  await attack(move, 'copy --yes', 5, ...SPEC);
  await attack(move, 'dead-letters list', 0);
  const ops = ['account', 'database', 'container', 'offer', 'pkranges', 'read-feed', 'query'] as const;
  await move.admin.faults(ops.map((op) => ({ match: { op }, effect: { status: 400, message } })));
  await attack(move, 'doctor', 3, ...SPEC);
  await attack(move, 'verify --fresh', 6, ...SPEC);
  expect(repeated.filter((name) => name.startsWith('doctor')).length).toBeGreaterThan(2);
});
