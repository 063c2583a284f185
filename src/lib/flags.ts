/** How options are written: as a flag on the command line, and as a list in an environment variable. */

/** Returns the flag of an option, without its dashes: `certificateOut` becomes `certificate-out`. */
export function flagOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** Splits a list of paths in an environment variable. A comma separates two paths only if a slash follows it. */
export function listOf(variable: string): string[] {
  return variable.split(/,(?=\s*\/)/).map((text) => text.trim());
}
