/**
 * The completion script for bash: one function with tables as `case` statements. It needs no package of completion
 * functions, and is written for bash 3.2 (macOS) and newer; bash 3.2 has no `compopt`, so names of files are missing there.
 */
import { quoted, type Flag, type Prefix, type Argument } from './grammar.ts';

/** Returns the script. */
export function bashScript(prefixes: readonly Prefix[]): string {
  return `# bash completion of cosmig, made by: cosmig completion bash

${TOOLS}

# Sets "next" to the words and "flags" to the options that may follow the words of a command.
_cosmig_prefix() {
  next= flags=
  case $1 in
${prefixes.map(prefixCase).join('\n')}
  esac
}

# Sets "kind" and "offered" to what follows an option.
_cosmig_value() {
  kind= offered=
  case $1 in
${valueCases(prefixes)}
  esac
}

# Notes an option that is on the line already, by its long name, unless it may be repeated.
_cosmig_given() {
  case $1 in
${givenCases(prefixes)}
    *) given+="$1 " ;;
  esac
}

# Sets "kind" and "offered" to what follows a command.
_cosmig_operand() {
  kind= offered=
  case $1 in
${prefixes.flatMap(({ words, operand }) => (operand === undefined ? [] : [`    ${quoted(words)}) ${valueVariables(operand)} ;;`])).join('\n')}
  esac
}

${MAIN}

complete -F _cosmig cosmig
`;
}

function prefixCase({ words, names, flags }: Prefix): string {
  const parts = [
    ...(names.length === 0 ? [] : [`next=${quoted(names.map(({ word }) => word).join(' '))}`]),
    `flags=${quoted(flags.map(({ long }) => long).join(' '))}`,
  ];
  return `    ${quoted(words)})\n${parts.map((part) => `      ${part}`).join('\n')} ;;`;
}

/** Returns a case for each kind of value. An option takes the same kind of value in every command. */
function valueCases(prefixes: readonly Prefix[]): string {
  const cases = new Map<string, Set<string>>();
  for (const flag of prefixes.flatMap(({ flags }) => flags)) {
    if (flag.value === undefined) continue;
    const follows = valueVariables(flag.value);
    cases.set(follows, new Set([...(cases.get(follows) ?? []), ...spellings(flag)]));
  }
  return [...cases]
    .map(([follows, patterns]) => `    ${[...patterns].join(' | ')})\n      ${follows} ;;`)
    .join('\n');
}

function givenCases(prefixes: readonly Prefix[]): string {
  const rows = prefixes.flatMap(({ flags }) =>
    flags.flatMap((flag) => {
      const patterns = spellings(flag).join(' | ');
      if (flag.repeats) return [`    ${patterns}) ;;`];
      return flag.short === undefined ? [] : [`    ${patterns}) given+=${quoted(`${flag.long} `)} ;;`];
    }),
  );
  return [...new Set(rows)].join('\n');
}

function spellings({ long, short }: Flag): string[] {
  return short === undefined ? [long] : [long, short];
}

function valueVariables(value: Argument): string {
  return 'offered' in value
    ? `kind=${value.kind} offered=${quoted(value.offered.join(' '))}`
    : `kind=${value.kind}`;
}

const TOOLS = `# Sets "words" to the words of the line up to the cursor. Bash itself also splits them at = and at :.
_cosmig_words() {
  local line=\${COMP_LINE:0:COMP_POINT} rest piece i
  words=()
  for ((i = 0; i <= COMP_CWORD; i++)); do
    rest=\${line#"\${line%%[![:space:]]*}"}
    piece=\${COMP_WORDS[i]}
    if ((i == COMP_CWORD)); then piece=$rest; fi
    if ((i == 0)) || [[ $rest != "$line" ]]; then
      words+=("$piece")
    else
      words[\${#words[@]}-1]+=$piece
    fi
    line=\${rest#"$piece"}
  done
}

# Offers the words of $2 that begin with $1 and stand after $3 in the word at the cursor. Bash replaces only the end of
# that word, after its last = or :.
_cosmig_offer() {
  local end=$cursor start word IFS=' '
  if [[ $COMP_WORDBREAKS == *=* ]]; then end=\${end##*=}; fi
  if [[ $COMP_WORDBREAKS == *:* ]]; then end=\${end##*:}; fi
  start=\${cursor%"$end"}
  for word in $2; do
    if [[ $word == "$1"* ]]; then word=$3$word; COMPREPLY+=("\${word#"$start"}"); fi
  done
}`;

const MAIN = `_cosmig() {
  local words at= option= given=' ' operands=0 only= cursor typed before next flags kind offered left word i
  COMPREPLY=()
  _cosmig_words
  cursor=\${words[\${#words[@]}-1]}
  # "at" is the command so far, "option" an option that waits for its value, "only" is set after --.
  for ((i = 1; i < \${#words[@]} - 1; i++)); do
    word=\${words[i]}
    if [[ -n $option && $word != -* ]]; then option=; continue; fi
    option=
    if [[ $word == -- ]]; then only=yes; continue; fi
    if [[ $word == -* && -z $only ]]; then
      _cosmig_given "\${word%%=*}"
      _cosmig_value "$word"
      if [[ -n $kind ]]; then option=$word; fi
      continue
    fi
    _cosmig_prefix "$at"
    if [[ " $next " == *" $word "* ]]; then at=\${at:+$at }$word; else operands=$((operands + 1)); fi
  done
  _cosmig_prefix "$at"
  typed=$cursor before=
  if [[ -n $option && $cursor != -* ]]; then
    _cosmig_value "$option"
  elif [[ $cursor == --*=* && -z $only ]]; then
    before=\${cursor%%=*}=
    typed=\${cursor#*=}
    _cosmig_value "\${before%=}"
  elif [[ $cursor != -* || -n $only ]]; then
    kind=word offered=$next
    if [[ -n $next ]]; then
      # The word before may be none of the commands.
      if ((operands > 0)); then return; fi
    else
      _cosmig_operand "$at"
      if ((operands > 0)) || [[ -z $kind ]]; then kind=flags; fi
      if [[ $kind == flags && -n $only ]]; then return; fi
    fi
  else
    kind=flags
  fi
  case $kind in
    file) compopt -o default 2> /dev/null ;;
    word) _cosmig_offer "$typed" "$offered" "$before" ;;
    words)
      if [[ $typed == *,* ]]; then before+=\${typed%,*},; typed=\${typed##*,}; fi
      left=
      for word in $offered; do
        if [[ ",\${before##*=}" != *",$word,"* ]]; then left+=" $word"; fi
      done
      _cosmig_offer "$typed" "$left" "$before"
      compopt -o nospace 2> /dev/null
      ;;
    flags)
      left=
      for word in $flags; do
        if [[ $given != *" $word "* ]]; then left+=" $word"; fi
      done
      _cosmig_offer "$typed" "$left" ''
      ;;
  esac
  if [[ \${#COMPREPLY[@]} == 1 && \${COMPREPLY[0]} == */ ]]; then compopt -o nospace 2> /dev/null; fi
}`;
