/** Operations that are sent for what their refusal tells. Nothing is changed by them, whatever becomes of the reply. */
import type { Trouble } from '../cosmos/transport/trouble.ts';

/** An etag that no document has. */
export const NO_ETAG = '"00000000-0000-0000-0000-000000000000"';

/** To the lane a batch is a write, and one without a reply in doubt; such a one may be sent again. */
export function repeatable(trouble: Trouble): Trouble {
  return trouble.kind === 'ambiguous' ? { ...trouble, kind: 'transient' } : trouble;
}
