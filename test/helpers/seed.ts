// Generated tests print the seed of a failure; COSMIG_SEED replays it in every one of them.
import * as fc from 'fast-check';

const seed = process.env['COSMIG_SEED'];
if (seed !== undefined && seed !== '')
  fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) });
