/** Every function a template can call. Go's own come first, so that sprig's `slice` replaces Go's, as in eKuiper. */
import { builtins } from '../builtins.ts'
import type { FunctionTable } from '../function.ts'
import { dateFunctions } from './dates.ts'
import { dictFunctions } from './dicts.ts'
import { encodingFunctions } from './encoding.ts'
import { listFunctions } from './lists.ts'
import { logicFunctions } from './logic.ts'
import { numberFunctions } from './numbers.ts'
import { placeFunctions } from './places.ts'
import { regexFunctions } from './regex.ts'
import { semverFunctions } from './semver.ts'
import { stringFunctions } from './strings.ts'

export const functions: FunctionTable = {
  ...builtins,
  ...stringFunctions,
  ...numberFunctions,
  ...listFunctions,
  ...dictFunctions,
  ...dateFunctions,
  ...logicFunctions,
  ...encodingFunctions,
  ...regexFunctions,
  ...semverFunctions,
  ...placeFunctions,
}

const noSecrets = 'templates cannot make or use keys and passwords'
const noHost = 'templates cannot look at the host'

/** Functions of sprig that are left out on purpose, and why. */
export const unavailable: ReadonlyMap<string, string> = new Map([
  ...['env', 'expandenv', 'getHostByName'].map((name) => [name, noHost] as const),
  ...[
    'bcrypt',
    'buildCustomCert',
    'decryptAES',
    'derivePassword',
    'encryptAES',
    'genCA',
    'genCAWithKey',
    'genPrivateKey',
    'genSelfSignedCert',
    'genSelfSignedCertWithKey',
    'genSignedCert',
    'genSignedCertWithKey',
    'htpasswd',
  ].map((name) => [name, noSecrets] as const),
])
