/** The flag of a camelCase name: `certificateOut` is `--certificate-out` on a command line. */
export function flagOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** The texts of a list in a variable. They are paths: a comma that no slash follows is part of a name. */
export function listOf(variable: string): string[] {
  return variable.split(/,(?=\s*\/)/).map((text) => text.trim());
}
