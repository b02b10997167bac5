/** The syntax tree of a template, and the text of its parts as error messages show them. */

export type Expression =
  | { readonly type: 'dot'; readonly at: number }
  | { readonly type: 'nil'; readonly at: number }
  | { readonly type: 'bool'; readonly at: number; readonly value: boolean }
  | {
      readonly type: 'number'
      readonly at: number
      readonly source: string
      readonly int: bigint | null
      readonly float: number
      readonly isFloat: boolean
    }
  | { readonly type: 'string'; readonly at: number; readonly source: string; readonly value: string }
  | { readonly type: 'field'; readonly at: number; readonly path: readonly string[] }
  | {
      readonly type: 'variable'
      readonly at: number
      readonly name: string
      readonly slot: number
      readonly path: readonly string[]
    }
  | { readonly type: 'function'; readonly at: number; readonly name: string }
  | { readonly type: 'chain'; readonly at: number; readonly base: Expression; readonly path: readonly string[] }
  | Pipeline

export interface Command {
  readonly at: number
  readonly args: readonly Expression[]
}

/** A variable of the running template: a place in its frame. Slot 0 is `$`. */
export interface Variable {
  readonly name: string
  readonly slot: number
}

export interface Pipeline {
  readonly type: 'pipeline'
  readonly at: number
  readonly variables: readonly Variable[]
  readonly assigns: boolean
  readonly commands: readonly Command[]
}

export type Node =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'action'; readonly pipe: Pipeline }
  | {
      readonly type: 'if' | 'with' | 'range'
      readonly pipe: Pipeline
      readonly body: readonly Node[]
      readonly otherwise: readonly Node[] | null
    }
  | { readonly type: 'template'; readonly at: number; readonly name: string; readonly pipe: Pipeline | null }
  | { readonly type: 'break' }
  | { readonly type: 'continue' }

export interface Definition {
  readonly name: string
  readonly body: readonly Node[]
  /** Places for variables, `$` included. */
  readonly slots: number
}

/** The source form of an expression. */
export function expressionText(e: Expression): string {
  switch (e.type) {
    case 'dot':
      return '.'
    case 'nil':
      return 'nil'
    case 'bool':
      return String(e.value)
    case 'number':
    case 'string':
      return e.source
    case 'field':
      return e.path.map((p) => `.${p}`).join('')
    case 'variable':
      return [e.name, ...e.path].join('.')
    case 'function':
      return e.name
    case 'chain': {
      const base = e.base.type === 'pipeline' ? `(${expressionText(e.base)})` : expressionText(e.base)
      return [base, ...e.path].join('.')
    }
    case 'pipeline': {
      const names = e.variables.map((v) => v.name).join(', ')
      const commands = e.commands.map(commandText).join(' | ')
      return names === '' ? commands : `${names} ${e.assigns ? '=' : ':='} ${commands}`
    }
  }
}

export function commandText(command: Command): string {
  return command.args.map((a) => (a.type === 'pipeline' ? `(${expressionText(a)})` : expressionText(a))).join(' ')
}
