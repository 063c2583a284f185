/**
 * The completion script for fish: one `complete` for each option of each command, with the command as its condition.
 * fish evaluates equal conditions once for each Tab.
 */
import type { Flag, Prefix, Argument } from './grammar.ts';

/** Returns the script. */
export function fishScript(prefixes: readonly Prefix[]): string {
  const [root, ...others] = prefixes;
  const common = root?.flags ?? [];
  const isCommon = ({ long }: Flag): boolean => common.some((flag) => flag.long === long);
  return `# fish completion of cosmig, made by: cosmig completion fish

${atFunction(prefixes)}

${LIST_FUNCTION}

complete -c cosmig -e
complete -c cosmig -f
${[
  ...common.map((flag) => flagLine('', flag)),
  ...[root, ...others].flatMap((prefix) => (prefix === undefined ? [] : nameLines(prefix))),
  ...others.flatMap((prefix) => prefixLines(prefix, isCommon)),
].join('\n')}
`;
}

function nameLines({ words, names }: Prefix): string[] {
  return names.map(({ word, about }) => line(`${isAt(words)} 0`, `-a ${word} -d ${inFish(about)}`));
}

function prefixLines({ words, flags, operand }: Prefix, isCommon: (flag: Flag) => boolean): string[] {
  return [
    ...(operand === undefined || operand.kind === 'text' ? [] : [line(`${isAt(words)} 0`, offered(operand))]),
    ...flags.filter((flag) => !isCommon(flag)).map((flag) => flagLine(isAt(words), flag)),
  ];
}

function isAt(words: string): string {
  return `__cosmig_at '${words}'`;
}

function line(condition: string, rest: string): string {
  return `complete -c cosmig ${condition === '' ? '' : `-n ${inFish(condition)} `}${rest}`;
}

function flagLine(condition: string, { long, short, about, value }: Flag): string {
  const spelling = `-l ${long.slice(2)}${short === undefined ? '' : ` -s ${short.slice(1)}`}`;
  const follows = value === undefined ? '' : ` ${value.kind === 'text' ? '-x' : `-r ${offered(value)}`}`;
  return line(condition, `${spelling}${follows} -d ${inFish(about)}`);
}

/** Returns what fish offers for a value: -F are files. */
function offered(value: Exclude<Argument, { readonly kind: 'text' }>): string {
  if (value.kind === 'file') return '-F';
  const words = value.offered.join(' ');
  return `-f -a ${inFish(value.kind === 'words' ? `(__cosmig_list ${words})` : words)}`;
}

/** Returns text between single quotes for fish, in which a backslash protects only quotes and itself. */
function inFish(text: string): string {
  return `'${text.replaceAll(/[\\']/g, (character) => `\\${character}`)}'`;
}

/**
 * Returns the function that decides whether the line is at a command, and optionally how many operands (0 or 1)
 * follow it.
 */
function atFunction(prefixes: readonly Prefix[]): string {
  const valued = prefixes.flatMap(({ flags }) => flags.filter(({ value }) => value !== undefined));
  const spellings = valued.flatMap(({ long, short }) => (short === undefined ? [long] : [long, short]));
  const names = prefixes.flatMap((prefix) =>
    prefix.names.map(({ word }) => inFish(`${prefix.words} ${word}`)),
  );
  return `function __cosmig_at
  set -l at ''
  set -l operands 0
  set -l is_value 0
  set -l is_word 0
  set -l words (commandline -opc)
  while string match -qr '^\\w+=' -- $words[1]
    set -e words[1]
  end
  for word in $words[2..-1]
    if test $is_word = 0; and string match -q -- '-*' $word
      set is_value 0
      switch $word
        case --
          set is_word 1
        case ${[...new Set(spellings)].join(' ')}
          set is_value 1
      end
    else if test $is_value = 1
      set is_value 0
    else
      switch "$at $word"
        case ${names.join(' ')}
          set at (string trim -- "$at $word")
        case '*'
          set operands 1
      end
    end
  end
  test "$at" = "$argv[1]"; or return 1
  test (count $argv) = 1; or test $operands = "$argv[2]"
end`;
}

const LIST_FUNCTION = `# Several words separated by commas: prints what is typed so far with each word that is missing.
function __cosmig_list
  set -l typed (string replace -r '^-[^=]*=' '' -- (commandline -ct))
  set -l before (string match -r '^.*,' -- $typed)
  for word in $argv
    contains -- $word (string split , -- $typed); or echo "$before$word"
  end
end`;
