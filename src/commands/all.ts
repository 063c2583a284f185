/** Every command, in the order the help lists them. */
import type { Command } from '../cli/command.ts';
import { demo } from './demo.ts';
import { emulator } from './emulator.ts';
import { key } from './key.ts';
import { status } from './status.ts';

export const commands: readonly Command[] = [status, key, emulator, demo];
