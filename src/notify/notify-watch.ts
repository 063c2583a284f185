/** Notifies receivers of a migration while `cosmig watch` shows it. */
import { LedgerWatch, type LedgerWatchParts } from './events/ledger-watch.ts';
import type { Receiver } from './delivery.ts';
import { lookSafely, whileSending, type SendParts } from './sender.ts';
import type { Ends } from '../spec/migration-name.ts';

type NotifyWatchParts = Omit<SendParts, 'receivers'> &
  Pick<LedgerWatchParts, 'ledger' | 'proofAgeMs'> & {
    /** Returns the receivers. `ends`: returns source and target of the migration; null: not known yet. */
    readonly receivers: (ends: () => Ends | null) => readonly Receiver[];
  };

/** Runs `body`, and notifies the receivers meanwhile. */
export async function withLedgerNotifications<T>(
  { receivers, ...parts }: NotifyWatchParts,
  body: () => Promise<T>,
): Promise<T> {
  let watch: LedgerWatch | undefined;
  const all = receivers(() => watch?.ends ?? null);
  return whileSending({ ...parts, receivers: all }, 'watch', (sender) => {
    const made = new LedgerWatch({ ...parts, notify: (happening, state) => sender.send(happening, state) });
    watch = made;
    lookSafely(() => made.look(), parts.warn);
    return { look: () => made.look(), body };
  });
}
