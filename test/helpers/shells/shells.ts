/**
 * Real shells that complete lines: bash and zsh in a terminal of their own, made by `script` of util-linux, with what an
 * operator types; fish, which completes a line as text by itself. A shell reads its files from a HOME of the test.
 */
import { execFileSync, spawn, spawnSync, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export type ShellName = 'bash' | 'zsh' | 'fish';

const hasTerminals = /util-linux/.test(spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '');

/** Whether the tests of this shell can run on this machine. */
export function isHere(shell: ShellName): boolean {
  if (shell !== 'fish' && !hasTerminals) return false;
  return spawnSync(shell, ['--version'], { stdio: 'ignore' }).status === 0;
}

/** The file, below HOME, from which each shell reads its settings or, in the case of fish, the completion. */
const FILES = { bash: '.bashrc', zsh: '.zshrc', fish: '.config/fish/completions/cosmig.fish' } as const;

/** Writes a script where the shell finds it, below this HOME. */
export function install(shell: ShellName, home: string, script: string): void {
  const file = join(home, FILES[shell]);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, script);
}

export interface Lines {
  readonly home: string;
  /** The working directory. */
  readonly folder: string;
  /** What is typed before the key of completion. */
  readonly lines: readonly string[];
  /** Where a shell finds programs when it starts; none are found once it has started. */
  readonly path?: string;
}

const PATH = process.env['PATH'] ?? '';

/** Returns everything that the shell offers for each line; of `--option=value`, only the value. */
export async function offersOf(shell: ShellName, around: Lines): Promise<string[][]> {
  const bare = (words: readonly string[]): string[] =>
    words.map((word) => word.replace(/^--[\w-]+=/, '').replace(/^sub\/$/, 'sub')).toSorted();
  if (shell === 'fish') {
    return (await menusOf('fish', around)).map((menu) => bare([...menu.keys()]));
  }
  await using terminal = new Terminal(shell, { ...around, settings: INSERT[shell] });
  const offers: string[][] = [];
  for (const line of around.lines) {
    const words = await terminal.ask(line);
    // The last word of the line is replaced by all that is offered, or stays if nothing is.
    const typed = line.slice(line.indexOf('cosmig ') + 'cosmig '.length).match(/'[^']*'|[^\s']\S*/g) ?? [];
    const isNew = line.endsWith(' ');
    const added = words.slice(isNew ? typed.length : typed.length - 1);
    offers.push(bare(!isNew && added.join() === typed.at(-1) ? [] : added));
  }
  return offers;
}

/** Returns what a menu of the shell shows for each line: each word with its description. */
export async function menusOf(shell: 'zsh' | 'fish', around: Lines): Promise<Array<Map<string, string>>> {
  const { home, folder, lines, path = PATH } = around;
  if (shell === 'fish') {
    // fish completes only commands that exist.
    const program =
      'function cosmig; end; set PATH; for line in $argv; echo "$line"; complete -C $line; echo; end';
    const env = { HOME: home, PATH: path };
    const text = execFileSync('fish', ['-c', program, ...lines], { cwd: folder, env, encoding: 'utf8' });
    const blocks = text.split('\n\n').slice(0, lines.length);
    return blocks.map((block) => {
      const rows = block.split('\n').slice(1);
      return new Map(rows.map((row) => [row.split('\t')[0] ?? '', row.split('\t')[1] ?? '']));
    });
  }
  await using terminal = new Terminal(shell, { ...around, settings: MENU });
  const menus: Array<Map<string, string>> = [];
  for (const line of lines) {
    await terminal.ask(line);
    // Words with the same description are in one row.
    const rows = [...terminal.shown.matchAll(/^(\S+(?: +\S+)*?) +-- (.*?)\s*$/gm)];
    menus.push(
      new Map(
        rows.flatMap(([, words = '', text = '']) => words.split(/ +/).map((word) => [word, text] as const)),
      ),
    );
  }
  return menus;
}

/** Settings with which the key of completion replaces a word with everything that is offered for it. */
const INSERT = {
  bash: `bind 'set completion-query-items 0' 'set page-completions off' 'set bell-style none'
bind '"\\C-xa": insert-completions'`,
  zsh: `zstyle ':completion:*' completer _all_matches _complete
zstyle ':completion:*' insert true
bindkey '^Xa' expand-or-complete`,
} as const;
/** A terminal so wide that no description is cut. */
const MENU = `COLUMNS=2000 LISTMAX=9999
bindkey '^Xa' list-choices`;

/** Runs in place of cosmig, and prints the words that the shell passes. Without a PATH, Tab can start no program. */
const ANSWER = `cosmig() { printf '\\nANSWER'; printf ' <%s>' "$@"; printf ' END\\n'; }
PATH=
`;

/** A shell in a terminal. */
class Terminal implements AsyncDisposable {
  /** What the terminal has shown for the last line. */
  shown = '';
  readonly #child: ChildProcessWithoutNullStreams;
  #wake = (): void => {};
  #hasEnded = false;

  constructor(
    shell: 'bash' | 'zsh',
    { home, folder, path = PATH, settings }: Lines & { readonly settings: string },
  ) {
    appendFileSync(join(home, FILES[shell]), `\n${settings}\n${ANSWER}`);
    const env = { HOME: home, PATH: path, SHELL: '/bin/sh', TERM: 'dumb', LC_ALL: 'C.UTF-8' };
    const command = shell === 'bash' ? 'bash -i' : 'zsh -d -i';
    this.#child = spawn('script', ['-qec', command, '/dev/null'], { cwd: folder, env });
    this.#child.on('exit', () => {
      this.#hasEnded = true;
      this.#wake();
    });
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.shown += text.replaceAll('\r', '');
      this.#wake();
    });
  }

  /** Types a line, the key of completion and Enter; returns the words with which cosmig was called. */
  async ask(line: string): Promise<string[]> {
    this.shown = '';
    this.#child.stdin.write(`${line}\u0018a\n`);
    for (;;) {
      const words = /^ANSWER(.*) END$/m.exec(this.shown)?.[1];
      if (words !== undefined) return [...words.matchAll(/ <(.*?)>(?= <|$)/g)].map(([, word = '']) => word);
      if (this.#hasEnded) throw new Error(`the shell has ended after: ${line}\n${this.shown}`);
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#hasEnded) return;
    const ended = new Promise<void>((resolve) => (this.#wake = resolve));
    this.#child.stdin.write('exit\n');
    await ended;
  }
}
