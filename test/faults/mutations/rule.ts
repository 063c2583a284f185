/** What a mutation is: a rule of the code, the edit that takes it out, and the test that must notice. */

/** A text that stands in a file exactly once, and what takes its place. */
export interface Edit {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export interface Rule {
  readonly name: string;
  readonly edits: readonly Edit[];
  /** The file of the test, and what its name says. */
  readonly test: string;
  readonly by: string;
}
