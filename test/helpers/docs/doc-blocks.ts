/**
 * Reads README and docs/ into what tests can check: fenced blocks, and the text between them. A block has a language
 * and, if a reader saves it, the name of the file: ```js app.mjs
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

export interface Block {
  /** File and line, as `README.md:31`. */
  readonly at: string;
  readonly language: string;
  /** Saved under this name, instead of being run. */
  readonly file: string | undefined;
  readonly text: string;
}

export interface Doc {
  /** As `docs/emulator.md`. */
  readonly name: string;
  readonly text: string;
  readonly blocks: readonly Block[];
  /** The text between the blocks. */
  readonly prose: string;
}

export function readDoc(name: string): Doc {
  const text = readFileSync(`${ROOT}${name}`, 'utf8');
  const blocks: Block[] = [];
  const prose: string[] = [];
  let open: { info: string; line: number; lines: string[] } | undefined;
  for (const [index, line] of text.split('\n').entries()) {
    if (open !== undefined && line === '```') {
      const [language = '', file] = open.info.split(' ');
      blocks.push({ at: `${name}:${open.line}`, language, file, text: `${open.lines.join('\n')}\n` });
      open = undefined;
    } else if (open !== undefined) open.lines.push(line);
    else if (line.startsWith('```')) open = { info: line.slice(3), line: index + 1, lines: [] };
    else prose.push(line);
  }
  if (open !== undefined) throw new Error(`${name}:${open.line} begins a block that does not end`);
  return { name, text, blocks, prose: prose.join('\n') };
}

/** README and the pages for users that are written by hand. */
export function readDocs(): Doc[] {
  const names = ['docs', 'docs/operations'].flatMap((folder) =>
    readdirSync(`${ROOT}${folder}`)
      .filter((name) => name.endsWith('.md'))
      .toSorted()
      .map((name) => `${folder}/${name}`),
  );
  return ['README.md', ...names].map(readDoc);
}

/** Every document of the repository, those for contributors too. */
export function readAllDocs(): Doc[] {
  const listed = execFileSync('git', ['ls-files', '-z', '--', '*.md'], { cwd: ROOT, encoding: 'utf8' });
  return listed
    .split('\0')
    .filter((name) => name !== '' && existsSync(`${ROOT}${name}`))
    .map(readDoc);
}

/** The commands of a shell block, one a line; a backslash at the end of a line joins it with the next. */
export function commandsIn(text: string): string[] {
  return text
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
}

/** The words of a simple command; nothing for one that needs a shell. */
export function wordsOf(line: string): string[] | undefined {
  const words: string[] = [];
  const rest = line.replaceAll(
    /(?:'(?<single>[^']*)'|"(?<double>[^"$`\\]*)"|(?<plain>[^\s'"$`\\|&;<>()#]))+|\s+|(?<hash>#.*$)/g,
    (word, ...groups) => {
      const hash: unknown = Reflect.get(Object(groups.at(-1)), 'hash');
      if (word.trim() !== '' && hash === undefined) words.push(unquoted(word));
      return '';
    },
  );
  return rest === '' ? words : undefined;
}

function unquoted(word: string): string {
  return word.replaceAll(
    /'([^']*)'|"([^"]*)"/g,
    (_all, single?: string, double?: string) => single ?? double ?? '',
  );
}
