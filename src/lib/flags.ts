/** The flag of a camelCase name: `certificateOut` is `--certificate-out` on a command line. */
export function flagOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
