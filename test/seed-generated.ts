/** Every generated test draws from the seed of the run. */
import * as fc from 'fast-check';
import { chosenSeed } from './helpers/seed.ts';

// fast-check takes 32 bits with a sign.
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: chosenSeed() | 0 });
