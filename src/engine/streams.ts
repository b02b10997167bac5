/** Streams and tables of an engine: their definitions through SQL, with the reference's answers. */
import { checkVersion, type StoredStream } from '../catalog/definitions.ts'
import { checkIdentifier } from '../catalog/identifier.ts'
import { IxionError } from '../core/errors.ts'
import type { Statement, StreamDefinition } from '../sql/ast.ts'
import { type DefinitionJson, definitionToJson, describeDefinition } from '../sql/definition.ts'
import { parseStatement, statementVerb } from '../sql/index.ts'
import type { EngineEnvironment } from './environment.ts'
import { prefixed } from './prefixed.ts'
import { sourceFormat, sourceType } from './source-properties.ts'
import type { WriteQueue } from './write-queue.ts'

export type StreamKind = 'stream' | 'table'

export class Streams {
  readonly #environment: EngineEnvironment
  readonly #writes: WriteQueue

  constructor(environment: EngineEnvironment, writes: WriteQueue) {
    this.#environment = environment
    this.#writes = writes
  }

  /**
   * Runs one DDL statement and returns its text answer (`Stream demo is created.`). Throws IxionError with the reference's
   * message when it fails.
   */
  async execute(sql: string): Promise<string> {
    const statement = this.#parseDefinition(sql)
    switch (statement.kind) {
      case 'createStream': {
        const word = statement.streamType === 'table' ? 'Table' : 'Stream'
        await this.#create(statement, sql)
        return `${word} ${statement.name} is created.`
      }
      case 'show': {
        const kind = statement.what === 'tables' ? 'table' : 'stream'
        const names = this.list(kind).map((s) => s.definition.name)
        return names.length ? names.join('\n') : `No ${kind} definitions are found.`
      }
      case 'describe':
        return describeDefinition(this.describe(statement.name, statement.what).definition)
      case 'explain':
        if (!this.get(statement.name)) {
          throw new IxionError('NOT_FOUND', `Explain ${statement.what} fails, ${statement.name} is not found.`)
        }
        return 'TO BE SUPPORTED'
      case 'drop':
        await this.drop(statement.name, statement.what)
        return `${capital(statement.what)} ${statement.name} is dropped.`
      case 'select':
        throw new IxionError('INVALID_DOCUMENT', `Invalid stream statement: ${sql}`)
    }
  }

  /** A statement about streams; text that begins with no statement at all is reported as the reference does. */
  #parseDefinition(sql: string): Statement {
    if (statementVerb(sql) === null) throw new IxionError('INVALID_DOCUMENT', `Invalid stream statement: ${sql}`)
    return this.#parse(sql)
  }

  #parse(sql: string): Statement {
    return parseStatement(sql, { functions: this.#environment.functions })
  }

  async #create(definition: StreamDefinition, sql: string): Promise<void> {
    const word = definition.streamType
    checkIdentifier(definition.name)
    try {
      this.#checkTable(definition)
      await this.#writes.run(`stream ${definition.name}`, async () => {
        await this.#environment.streams.create(definition, sql)
        await this.#openLookup(definition)
      })
    } catch (error) {
      throw prefixed(`Create ${word} fails: `, error)
    }
  }

  /** A lookup table works from its definition on; one that does not connect is not created. */
  async #openLookup(definition: StreamDefinition): Promise<void> {
    if (definition.options.kind !== 'lookup') return
    try {
      await this.#environment.lookups.open(this.#environment, definition)
    } catch (error) {
      await this.#environment.streams.drop(definition.name)
      throw error
    }
  }

  #checkTable(definition: StreamDefinition): void {
    if (definition.options.kind !== 'lookup') return
    const type = sourceType(definition)
    if (!this.#environment.connectors.get(type)?.lookup) {
      throw new IxionError('INVALID_PROPERTY', `lookup source type ${type} not found.`, {
        path: `${definition.name}.TYPE`,
      })
    }
  }

  /** Replaces or creates. `name` and `kind` are those of the request, which the statement must match. */
  async replace(name: string, kind: StreamKind, sql: string): Promise<string> {
    const statement = this.#parseDefinition(sql)
    if (statement.kind !== 'createStream') throw new IxionError('INVALID_DOCUMENT', `Invalid stream statement: ${sql}`)
    if (statement.streamType !== kind) throw new IxionError('NOT_FOUND', `${kind} ${name} is not found`)
    const fail = (text: string): never => {
      throw new IxionError('INVALID_DOCUMENT', `Replace ${name} fails: ${text}`)
    }
    if (statement.name !== name) fail(`the sql statement must update the ${name} source.`)
    if (statement.options.temp) fail('cannot replace with temp option.')
    const stored = this.#environment.streams.get(name)
    if (stored) {
      if ((stored.definition.options.shared ?? false) !== (statement.options.shared ?? false)) {
        fail('do not support to change stream SHARED option.')
      }
      checkVersion(`source ${name}`, stored.definition.options.version ?? '', statement.options.version ?? '')
    }
    checkIdentifier(name)
    await this.#writes.run(`stream ${name}`, async () => {
      // Opened first: when that fails the old table stays.
      if (statement.options.kind === 'lookup') await this.#environment.lookups.open(this.#environment, statement)
      await this.#environment.streams.replace(statement, sql)
    })
    return `${capital(kind)} ${name} is replaced.`
  }

  /** The definition, or NOT_FOUND with the text of DESCRIBE. */
  describe(name: string, kind: StreamKind): StoredStream {
    const stored = this.#environment.streams.get(name)
    if (!stored) throw new IxionError('NOT_FOUND', `Describe ${kind} fails, ${name} is not found.`)
    if (stored.definition.streamType !== kind) {
      throw new IxionError('NOT_FOUND', `Describe ${kind} fails, ${kind} ${name} is not found.`)
    }
    return stored
  }

  get(name: string): StoredStream | undefined {
    return this.#environment.streams.get(name)
  }

  list(kind: StreamKind): StoredStream[] {
    return this.#environment.streams.list(kind)
  }

  /** Type and format as lists show them. */
  details(kind: StreamKind): { name: string; type: string; format: string }[] {
    return this.list(kind).map(({ definition }) => ({
      name: definition.name,
      type: (definition.options.type ?? 'mqtt').toLowerCase(),
      format: sourceFormat(definition),
    }))
  }

  /** The definition as `GET /streams/{name}` shows it. */
  definitionJson(name: string, kind: StreamKind): DefinitionJson {
    return definitionToJson(this.describe(name, kind).definition)
  }

  async drop(name: string, kind: StreamKind): Promise<void> {
    if (!this.#environment.streams.get(name)) {
      throw new IxionError('NOT_FOUND', `Drop ${kind} fails: ${kind} ${name} is not found.`)
    }
    await this.#writes.run(`stream ${name}`, async () => {
      await this.#environment.lookups.drop(name)
      await this.#environment.streams.drop(name)
    })
  }
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}
