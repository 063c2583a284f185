// Run as its own process by tests that kill it, or that put it on a disk of its own: the command line, with short times.
import { useQuickTiming } from '../quick-timing.ts';
import { main } from '../../../src/cli/main.ts';

useQuickTiming(true);
await main();
