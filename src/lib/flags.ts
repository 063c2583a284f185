/** The spelling of options: a flag on the command line, and a list in an environment variable. */

/** The flag of a camelCase name: `certificateOut` is `--certificate-out` on a command line. */
export function flagOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** The items of a list in an environment variable. They are paths, so a comma separates only before a slash. */
export function listOf(variable: string): string[] {
  return variable.split(/,(?=\s*\/)/).map((text) => text.trim());
}
