/**
 * Property tests draw the same values in every run, so that a red build is of the change at hand. `IXION_SEED=random` draws
 * others, `IXION_SEED=N` those of seed N.
 */
import fc from 'fast-check'

const given = process.env['IXION_SEED'] ?? '1'
if (given !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(given) })
