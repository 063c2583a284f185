/** Owns the names of the rules of the way back. A mutation says what a mover without that rule would do. */
export const BACK_MUTATIONS = ['etag-just-read'] as const;

export type BackMutation = (typeof BACK_MUTATIONS)[number];
