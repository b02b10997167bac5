/** Flags of the daemon: `--name value`, `-name value` or `--name=value`. */
export interface ServeArguments {
  readonly etc?: string
  readonly data?: string
  readonly log?: string
  readonly host?: string
  readonly port?: number
}

const texts = ['etc', 'data', 'log', 'host'] as const

/** Throws a plain Error with a usable message. Flags of the reference that mean nothing here are taken and ignored. */
export function serveArguments(given: readonly string[]): ServeArguments {
  const result: { -readonly [K in keyof ServeArguments]: ServeArguments[K] } = {}
  for (let i = 0; i < given.length; i++) {
    const [, name = '', joined] = /^--?([A-Za-z]+)(?:=(.*))?$/s.exec(given[i] as string) ?? []
    const value = joined ?? given[++i]
    if (name === '' || value === undefined) throw new Error(`unexpected argument ${given[i] ?? name}\n${usage}`)
    if (name === 'port') {
      const port = Number(value)
      if (!Number.isInteger(port) || port < 0 || port > 65535)
        throw new Error(`--port must be 0 to 65535, got ${value}`)
      result.port = port
    } else if (texts.includes(name as (typeof texts)[number])) {
      result[name as (typeof texts)[number]] = value
    } else if (name !== 'loadFileType' && name !== 'plugins') {
      throw new Error(`unknown flag --${name}\n${usage}`)
    }
  }
  return result
}

export const usage = `usage: ixion serve [--etc DIR] [--data DIR] [--log DIR] [--host ADDRESS] [--port PORT]`
