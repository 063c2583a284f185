/** Every command, in the order in which help lists them. */
import type { Command } from '../cli/command.ts';
import { finish } from './back/finish.ts';
import { reverse } from './back/reverse.ts';
import { rollback } from './back/rollback.ts';
import { completionOf } from './completion.ts';
import { copy } from './copy.ts';
import { cutover } from './cutover.ts';
import { deadLettersDiscard } from './dead-letters/discard.ts';
import { deadLettersList } from './dead-letters/list.ts';
import { deadLettersRetry } from './dead-letters/retry.ts';
import { deadLettersShow } from './dead-letters/show.ts';
import { demo } from './demo.ts';
import { doctor } from './doctor.ts';
import { emulator } from './emulator.ts';
import { key } from './key.ts';
import { plan } from './plan.ts';
import { status } from './status.ts';
import { tail } from './tail.ts';
import { verify } from './verify.ts';
import { watch } from './watch.ts';

const others: readonly Command[] = [
  plan,
  doctor,
  copy,
  tail,
  verify,
  cutover,
  reverse,
  rollback,
  finish,
  status,
  watch,
  deadLettersList,
  deadLettersShow,
  deadLettersRetry,
  deadLettersDiscard,
  key,
  emulator,
  demo,
];

export const commands: readonly Command[] = [...others, completionOf(others)];
