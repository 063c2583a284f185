/** `cosmig completion`: prints the script with which a shell completes command lines of cosmig. */
import type { Command } from '../cli/command.ts';
import { unreachable } from '../lib/assert.ts';
import { UsageError } from '../lib/errors.ts';
import { nearest } from '../lib/nearest.ts';
import type { Prefix } from '../report/completion/grammar.ts';
import type { COMPLETION } from '../report/json/tool-results.ts';
import type { TypeOf } from '../report/json/schema.ts';
import { COMMON_OPTIONS, META_FLAGS } from './common-options.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** Returns the command for a program that has these other commands. */
export function completionOf(others: readonly Command[]): Command {
  const completion: Command = {
    name: 'completion',
    summary: 'print the script for Tab in bash, zsh or fish',
    description:
      'Prints a script with which a shell completes commands, options, their values and names of files. The script runs ' +
      'in the shell alone: Tab starts no process and asks no account. Print it again after an update of cosmig.',
    examples: [
      {
        line: 'cosmig completion bash',
        purpose: 'in ~/.bashrc: eval "$(cosmig completion bash)"; the same for zsh',
      },
      { line: 'cosmig completion fish', purpose: 'written to ~/.config/fish/completions/cosmig.fish' },
    ],
    options: {},
    endsWith: {},
    operand: SHELLS.join('|'),
    async run({ operand, env }) {
      const shell = shellFrom(operand, env['SHELL']);
      const { prefixesOf } = await import('../report/completion/grammar.ts');
      const prefixes = prefixesOf([...others, completion], {
        options: COMMON_OPTIONS,
        meta: META_FLAGS,
      });
      const writeScript = await scriptOf(shell);
      const script = writeScript(prefixes);
      const json: TypeOf<typeof COMPLETION> = { command: 'completion', shell, script };
      return { json, text: script.trimEnd() };
    },
  };
  return completion;
}

/** Returns the function that writes the script of a shell. */
async function scriptOf(shell: Shell): Promise<(prefixes: readonly Prefix[]) => string> {
  switch (shell) {
    case 'bash':
      return (await import('../report/completion/bash.ts')).bashScript;
    case 'zsh':
      return (await import('../report/completion/zsh.ts')).zshScript;
    case 'fish':
      return (await import('../report/completion/fish.ts')).fishScript;
    default:
      return unreachable(shell);
  }
}

/** A missing name is not guessed: the shell of the login may not be the shell that reads the script. */
function shellFrom(operand: string | undefined, login = ''): Shell {
  const shell = SHELLS.find((name) => name === operand);
  if (shell !== undefined) return shell;
  const why = `there are scripts for ${SHELLS.slice(0, -1).join(', ')} and ${SHELLS.at(-1)}`;
  if (operand === undefined) {
    const usual = SHELLS.find((name) => login.endsWith(`/${name}`)) ?? SHELLS[0];
    throw new UsageError('no shell was named', { why, hint: `write cosmig completion ${usual}` });
  }
  const near = nearest(operand, SHELLS) ?? SHELLS.join('|');
  throw new UsageError(`unknown shell: ${operand}`, { why, hint: `write cosmig completion ${near}` });
}
