/**
 * The completion script for zsh: one function for each command, made of `_arguments`. It can be loaded at the start of
 * a shell, or lie as `_cosmig` in a folder of `fpath`.
 */
import { quoted, type Flag, type Name, type Prefix, type Argument } from './grammar.ts';

/** Returns the script. */
export function zshScript(prefixes: readonly Prefix[]): string {
  return `#compdef cosmig
# zsh completion of cosmig, made by: cosmig completion zsh

${prefixes.map((prefix) => (prefix.names.length === 0 ? commandFunction(prefix) : groupFunction(prefix, prefixes))).join('\n\n')}

# As a file of fpath, this script is the function itself. Else it is loaded by the start of a shell.
if [[ \${funcstack[1]-} == _cosmig ]]; then
  _cosmig "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }
  compdef _cosmig cosmig
fi
`;
}

function commandFunction({ words, flags, operand }: Prefix): string {
  const lines = [
    ...flags.flatMap((flag) => flagSpecs(flag)),
    ...(operand === undefined ? [] : [quoted(`1:${valueSpec(operand)}`)]),
  ];
  return `${functionOf(words)}() {
  _arguments -S : \\
${lines.map((line) => `    ${line}`).join(' \\\n')}
}`;
}

/**
 * After a name, the words of the line begin with that name, so that the function of the name sees its own words. Options
 * of a command may stand before its name. There they are not offered ("!"), but their values are skipped.
 */
function groupFunction({ words, names, flags }: Prefix, prefixes: readonly Prefix[]): string {
  const known = new Set(flags.map(({ long }) => long));
  const below = prefixes.filter((prefix) => prefix.words.startsWith(words)).flatMap((prefix) => prefix.flags);
  const hidden = new Map(below.filter(({ long }) => !known.has(long)).map((flag) => [flag.long, flag]));
  const specs = [
    ...flags.flatMap((flag) => flagSpecs(flag)),
    ...[...hidden.values()].flatMap((flag) => flagSpecs(flag, '!')),
  ];
  return `${functionOf(words)}() {
  local context state state_descr line curcontext=$curcontext ret=1
  local -A opt_args
  local -a names=(
${names.map((name) => `    ${nameSpec(name)}`).join('\n')}
  )
  _arguments -C -S -A '-*' : \\
${specs.map((spec) => `    ${spec} \\`).join('\n')}
    '1: :->name' '*:: :->rest' && ret=0
  case $state in
    name) _describe -t commands command names && ret=0 ;;
    rest)
      case $line[1] in
${names.map(({ word }) => `        ${word}) ${functionOf(`${words} ${word}`.trim())} && ret=0 ;;`).join('\n')}
        *) _message 'unknown command' ;;
      esac
      ;;
  esac
  return ret
}`;
}

function functionOf(words: string): string {
  return ['_cosmig', ...words.split(/[ -]/)].filter((word) => word !== '').join('_');
}

function nameSpec({ word, about }: Name): string {
  return quoted(`${word}:${escaped(about, /[\\]/g)}`);
}

/** Returns an option for _arguments, once for each of its spellings; one excludes the other. */
function flagSpecs({ long, short, about, value, repeats }: Flag, mark = ''): string[] {
  const others = short === undefined ? '' : `(${short} ${long})`;
  const head = `${mark}${repeats ? '*' : others}`;
  const text = `[${escaped(about, /[\\[\]:]/g)}]`;
  const tail = value === undefined ? text : `${text}:${valueSpec(value)}`;
  const names = [...(short === undefined ? [] : [short]), `${long}${value === undefined ? '' : '='}`];
  return names.map((name) => quoted(`${head}${name}${tail}`));
}

/** Returns what follows an option or a command: its name, and how zsh finds values of it. */
function valueSpec(value: Argument): string {
  const name = escaped(value.name, /[\\:]/g);
  if (value.kind === 'file') return `${name}:_files`;
  if (value.kind === 'text') return `${name}: `;
  const words = value.offered.map((word) => escaped(word, /[\\:]/g));
  if (value.kind === 'words') return `${name}:_values -s , ${name} ${words.join(' ')}`;
  const open = words.filter((word) => word.endsWith('/'));
  const whole = words.filter((word) => !word.endsWith('/'));
  if (open.length === 0) return `${name}:(${whole.join(' ')})`;
  return `${name}:{compadd "$expl[@]" -S "" - ${open.join(' ')}; compadd "$expl[@]" - ${whole.join(' ')}}`;
}

function escaped(text: string, special: RegExp): string {
  return text.replaceAll(special, (character) => `\\${character}`);
}
