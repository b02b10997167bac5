/** Imports that go on after their answer (spec/rest-api.md 3.8, async). Tasks live in memory; the oldest finished ones go. */
import { messageOf } from '../../core/errors.ts'
import type { Engine } from '../../engine/engine.ts'
import { json, type Reply, text } from '../http.ts'
import type { Route } from '../router.ts'
import type { Services } from '../services.ts'
import { WireError, wireCode } from '../wire-errors.ts'
import { importAnswer } from './transfer.ts'

interface Task {
  readonly id: string
  status: 'register' | 'running' | 'finish' | 'error' | 'cancel'
  message: string
  readonly created: number
  updated: number
}

const MAX_TASKS = 100

const tasksOf = new WeakMap<Engine, Map<string, Task>>()

async function tasks(services: Services): Promise<Map<string, Task>> {
  const engine = await services.engine()
  let known = tasksOf.get(engine)
  if (!known) {
    known = new Map()
    tasksOf.set(engine, known)
  }
  return known
}

async function find(services: Services, id: string): Promise<Task> {
  const task = (await tasks(services)).get(id)
  if (!task) throw new WireError(wireCode.undefined, `async task: ${id} not found`)
  return task
}

export const taskRoutes: Route[] = [
  [
    'POST',
    '/async/data/import',
    async (call, services): Promise<Reply> => {
      const all = await tasks(services)
      for (const task of all.values()) {
        if (all.size < MAX_TASKS) break
        if (task.status !== 'running' && task.status !== 'register') all.delete(task.id)
      }
      if (all.size >= MAX_TASKS) throw new WireError(wireCode.undefined, `there are already ${MAX_TASKS} tasks running`)
      const seconds = (): number => Math.floor(services.now() / 1000)
      const base = `dataImport-${seconds()}`
      let id = base
      for (let n = 2; all.has(id); n++) id = `${base}-${n}`
      const task: Task = { id, status: 'register', message: '', created: seconds(), updated: seconds() }
      all.set(id, task)
      const end = (status: Task['status'], message: string): void => {
        if (task.status === 'cancel') return
        task.status = status
        task.message = message
        task.updated = seconds()
      }
      end('running', '')
      importAnswer(call, services)
        .then((answer) => end('finish', JSON.stringify(answer)))
        .catch((error) => end('error', `err:${messageOf(error)}, response:{}`))
      return json({ id })
    },
  ],
  [
    'GET',
    '/async/task/{id}',
    async ({ params }, services) => {
      const { id, status, message, created, updated } = await find(services, params['id'] ?? '')
      return json({ id, status, message, createdTimestamp: created, updatedTimestamp: updated })
    },
  ],
  [
    'POST',
    '/async/task/{id}/cancel',
    async ({ params }, services) => {
      const task = await find(services, params['id'] ?? '')
      // What is being imported is imported to its end; only its report is given up.
      if (task.status === 'register' || task.status === 'running') task.status = 'cancel'
      return text('cancel success')
    },
  ],
]
