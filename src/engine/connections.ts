/**
 * Named connections (spec/rest-api.md 3.10, spec/connectors.md 7): kept open from creation to deletion and shared by whoever
 * names them in `connectionSelector`. Rules' own connections are listed too, but cannot be changed.
 */

import type { ConfigurationCatalog, NamedConnection } from '../catalog/configuration.ts'
import { checkIdentifier } from '../catalog/identifier.ts'
import type { AcquiredConnection } from '../connectors/contract.ts'
import { IxionError, messageOf } from '../core/errors.ts'
import { validateOptions } from '../core/validate.ts'
import type { ValueObject } from '../core/values.ts'
import { connectorContext, type EngineEnvironment } from './environment.ts'

/** Member order is that of the wire. */
export interface ConnectionReport {
  readonly id: string
  readonly typ: string
  readonly props: ValueObject
  readonly isNamed: boolean
  readonly status: 'connected' | 'connecting' | 'disconnected'
  readonly err?: string
  readonly refCount?: number
}

/** Who uses connections at the moment: rules, by the name of the operator that does. */
export interface ConnectionUsers {
  /** Operators of running rules that name the connection, `rule_operator_0`. */
  usersOf(id: string): readonly string[]
  /** Connections that running rules opened for themselves. */
  internal(): readonly ConnectionReport[]
}

interface Live {
  acquired: AcquiredConnection | null
  error: string
}

export class Connections {
  readonly #environment: EngineEnvironment
  readonly #configuration: ConfigurationCatalog
  readonly #users: ConnectionUsers
  readonly #live = new Map<string, Live>()

  constructor(environment: EngineEnvironment, configuration: ConfigurationCatalog, users: ConnectionUsers) {
    this.#environment = environment
    this.#configuration = configuration
    this.#users = users
  }

  /** Dials every stored connection; does not wait for an answer. */
  openStored(): void {
    for (const connection of this.#configuration.connections()) this.#open(connection)
  }

  #open(connection: NamedConnection): void {
    const { id, typ, props } = connection
    if (this.#live.has(id)) return
    const live: Live = { acquired: null, error: '' }
    this.#live.set(id, live)
    const definition = this.#environment.connectors.get(typ)?.connection
    // As eKuiper: an unknown type is accepted and stays `connecting`.
    if (!definition) return
    const context = connectorContext(this.#environment, `connection ${id}`)
    const acquire = async (): Promise<void> => {
      const checked = validateOptions(definition.options, props, `connection ${id}`, { unknown: 'drop' })
      const acquired = await definition.acquire(id, checked, context)
      if (this.#live.get(id) === live) live.acquired = acquired
      else await acquired.release()
    }
    acquire().catch((error) => {
      live.error = messageOf(error)
      this.#environment.log.warn('connection failed', { connection: id, error: live.error })
    })
  }

  async #close(id: string): Promise<void> {
    const live = this.#live.get(id)
    this.#live.delete(id)
    await live?.acquired?.release().catch(() => {})
  }

  async create(connection: NamedConnection): Promise<void> {
    const { id, typ } = connection
    if (id !== '') checkIdentifier(id)
    if (id === '' || typ === '') throw refused('connection id and type should be defined')
    if (this.#configuration.connection(id)) throw refused(`connection ${id} already been created`)
    await this.#configuration.setConnection(connection)
    this.#open(connection)
  }

  /** Named ones; with `all` those of running rules too. */
  list(all: boolean): ConnectionReport[] {
    const named = this.#configuration.connections().map((c) => this.#report(c))
    return all ? [...named, ...this.#users.internal()] : named
  }

  get(id: string): ConnectionReport {
    const named = this.#configuration.connection(id)
    if (named) return this.#report(named)
    const internal = this.#users.internal().find((c) => c.id === id)
    if (!internal) throw refused(`connection ${id} not existed`)
    return internal
  }

  async update(connection: NamedConnection): Promise<void> {
    const { id, typ } = connection
    if (id === '' || typ === '') throw refused('connection id and type should be defined')
    this.#refuseInternal(id)
    if (!this.#configuration.connection(id)) throw refused(`connection ${id} not existed`)
    this.#refuseUsed(id)
    await this.#close(id)
    await this.#configuration.setConnection(connection)
    this.#open(connection)
  }

  /** One that does not exist is fine. */
  async delete(id: string): Promise<void> {
    this.#refuseInternal(id)
    if (!this.#configuration.connection(id)) return
    this.#refuseUsed(id)
    await this.#close(id)
    await this.#configuration.deleteConnection(id)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#live.keys()].map((id) => this.#close(id)))
  }

  #refuseInternal(id: string): void {
    if (this.#users.internal().some((c) => c.id === id)) throw refused(`internal connection ${id} can't be edit`)
  }

  #refuseUsed(id: string): void {
    const users = this.#users.usersOf(id)
    if (users.length > 0) {
      throw new IxionError('IN_USE', `connection ${id} can't be dropped due to rule references [${users.join(' ')}]`)
    }
  }

  #report({ id, typ, props }: NamedConnection): ConnectionReport {
    const live = this.#live.get(id)
    const status = live?.acquired?.status
    const error = live?.error || (status?.status === 1 ? '' : (status?.message ?? ''))
    const refCount = this.#users.usersOf(id).length
    const state =
      status?.status === 1 ? 'connected' : live?.error || status?.status === -1 ? 'disconnected' : 'connecting'
    return {
      id,
      typ,
      props,
      isNamed: true,
      status: state,
      ...(error !== '' && { err: error }),
      ...(refCount > 0 && { refCount }),
    }
  }
}

function refused(message: string): IxionError {
  return new IxionError('INVALID_DOCUMENT', message)
}
