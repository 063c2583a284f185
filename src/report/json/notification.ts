/**
 * The schema of a notification: what `--notify` posts and `--notify-command` gets on stdin. Invariant: it has counts,
 * states and times only, never an id, a key value or the content of a document.
 */
import { DOCUMENTS, ERROR, MIGRATION, phase } from './run-results.ts';
import * as is from './schema.ts';

const { code, message } = ERROR.members;

/** The steps of a cutover that are notified, in their order. */
const STEPS = [
  'gate passed',
  'stopping writers',
  'writers stopped',
  'fence restarted',
  'drained',
  'proven',
  'committed',
  'settings applied',
  'application switched',
  'late writes',
  'watch ended',
  'backed out',
  'writers resumed',
] as const;

export const NOTIFICATION = is.object({
  id: is.text('of the event; the same when it is sent again, and when the run and cosmig watch both send it'),
  run: is.text('the same in all notifications of one process'),
  number: is.whole('1 in the first notification of a process'),
  dropped: is.whole(
    'notifications of this process that were dropped or not delivered before this one was sent',
  ),
  from: is.oneOf(['run', 'watch'], 'who noticed it: the run itself, or cosmig watch'),
  at: is.time(),
  event: is.oneOf([
    'phase',
    'stalled',
    'moving',
    'dead-letters',
    'proof',
    'proof-old',
    'retention',
    'cutover',
    'end',
    'unreadable',
  ]),
  text: is.text('one sentence for people'),
  command: is.text('the command of the run, such as tail; watch: no run is known'),
  migration: MIGRATION,
  phase: is.nullable(phase),
  documents: is.nullable(DOCUMENTS),
  lagSeconds: is.nullable(is.number('of the range that is farthest behind')),
  stalled: is.optional(
    is.object(
      { seconds: is.number('for how long nothing has moved'), waitsFor: is.nullable(is.text()) },
      'of the events stalled and moving',
    ),
  ),
  proof: is.optional(
    is.object(
      {
        result: is.oneOf(['equal', 'differs', 'not proven']),
        level: is.oneOf(['count', 'digest']),
        source: is.whole('documents when it was read'),
        target: is.whole('documents when it was read'),
        differences: is.record(is.whole(), 'by kind'),
        inFlight: is.whole('differences that may still be replicated'),
        openLetters: is.whole(),
      },
      'of the event proof',
    ),
  ),
  proofAge: is.optional(
    is.object(
      { proof: is.time('when both sides were last found equal'), seconds: is.whole('the age of the proof') },
      'of the event proof-old',
    ),
  ),
  retention: is.optional(
    is.object(
      {
        end: is.time(
          'when the source begins to forget deletes that are not replicated, with a backup of 7 days',
        ),
        seconds: is.whole('the time that is left; negative: it is over'),
      },
      'of the event retention',
    ),
  ),
  cutover: is.optional(
    is.object(
      {
        step: is.oneOf(STEPS),
        stoppedSeconds: is.optional(is.number('for how long writers were stopped; of the step committed')),
        repaired: is.optional(is.whole('documents repaired before the commit; of the step committed')),
        reason: is.optional(is.text('of the step backed out')),
        lateWrites: is.optional(
          is.whole('ranges with writes after the commit; of the steps late writes and watch ended'),
        ),
      },
      'of the event cutover',
    ),
  ),
  end: is.optional(
    is.object(
      {
        outcome: is.text(
          'done, the code of the error, or crashed: it was killed or crashed, seen by cosmig watch',
        ),
        exitCode: is.nullable(is.whole('null: cosmig watch does not know it')),
        seconds: is.number('for how long the command ran; after a crash, until its last sign of life'),
        error: is.nullable(is.object({ code, message }, 'null from cosmig watch')),
      },
      'of the event end',
    ),
  ),
});

export type Notification = is.TypeOf<typeof NOTIFICATION>;
export type CutoverStep = (typeof STEPS)[number];
