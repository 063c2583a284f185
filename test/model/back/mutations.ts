/** Owns the names of the rules of the way back. A mutation says what a mover without that rule would do. */
export const BACK_MUTATIONS = [
  'etag-just-read',
  'closed-side-not-watched',
  'closed-side-not-counted',
  'watch-reads-behind-its-page',
  'flag-after-the-watch',
  'settling-trusts-the-identity',
  'claims-without-bytes',
  'write-claim-covers-a-removal',
  'where-is-claimed-and-not-what',
  'own-removals-forgotten',
  'refused-create-is-a-stranger',
  'sweep-trusts-the-identity',
  'begun-not-marked',
  'marked-before-the-map',
  'map-not-durable',
  'map-behind-the-end',
  'map-not-counted',
  'mapped-row-without-lsn',
  'two-directions-alive',
  'anchors-after-the-commit',
  'ends-after-the-commit',
] as const;

export type BackMutation = (typeof BACK_MUTATIONS)[number];
