/** The formats of an engine: the built-in ones, with custom modules run in a context of their own. */
import type { CustomLoader, FormatDefinition } from '../formats/contract.ts'
import { customFormat } from '../formats/custom.ts'
import { formats, loadFormat as loadFrom } from '../formats/index.ts'

let load: CustomLoader | null = null

const custom: FormatDefinition = {
  ...customFormat((name, text) => (load as CustomLoader)(name, text)),
  load: async () => {
    load ??= (await import('../extensions/custom-codec.ts')).loadCustomCodec
  },
}

const engineFormats: Readonly<Record<string, FormatDefinition>> = { ...formats, custom }

/** The format of that name in any case ('' = json), ready for use. Throws INVALID_PROPERTY when there is none. */
export function loadFormat(name: string): Promise<FormatDefinition> {
  return loadFrom(name, engineFormats)
}
