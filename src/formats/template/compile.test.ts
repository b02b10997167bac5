import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { IxionError, RowError } from '../../core/errors.ts'
import { Instant, type Value } from '../../core/values.ts'
import { compileTemplate, type TemplateOptions } from './compile.ts'
import { functions } from './functions/index.ts'

const options: TemplateOptions = { now: () => 1_541_152_486_000, random: () => 0.5 }

function render(template: string, input: Value = {}, more: Partial<TemplateOptions> = {}): string {
  return compileTemplate(template, { ...options, ...more })(input)
}

function failure(run: () => unknown): IxionError | RowError {
  try {
    run()
  } catch (error) {
    if (error instanceof IxionError || error instanceof RowError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

const row: Value = {
  id: 'dev-1',
  n: 7n,
  f: 36.25,
  big: 1e6,
  none: null,
  list: [{ t: 10.5 }, { t: 20n }],
  m: { k: 'v', inner: { t: 1.5 } },
}

describe('text and actions', () => {
  it.each([
    ['plain', 'plain'],
    ['{"v":{{.big}}}', '{"v":1e+06}'],
    ['{{.missing}}|{{.none}}|{{.missing.deep}}', '<no value>|<no value>|<no value>'],
    ['a {{- .n -}} b', 'a7b'],
    ['{{/* nothing */}}x {{- /* trims */ -}} y', 'xy'],
    ['{{$x := .n}}{{$x = 9}}{{$x}}', '9'],
    ['{{if .none}}a{{else if gt .n 5}}b{{else}}c{{end}}', 'b'],
    ['{{with .m}}{{.k}}{{end}}{{with .none}}x{{else with .n}}{{.}}{{end}}', 'v7'],
    ['{{range $i, $r := .list}}{{if $i}},{{end}}{{$r.t}}{{end}}', '10.5,20'],
    ['{{range $k, $v := .m}}{{$k}} {{end}}', 'inner k '],
    ['{{range 3}}{{.}}{{end}}{{range .none}}{{else}}-{{end}}', '012-'],
    ['{{range .list}}{{.t}}{{break}}{{end}} {{range 4}}{{if eq . 1}}{{continue}}{{end}}{{.}}{{end}}', '10.5 023'],
    ['{{define "T"}}<{{.}}>{{end}}{{template "T" .id}}{{block "B" .n}}[{{.}}]{{end}}', '<dev-1>[7]'],
    ['{{.id | upper | printf "%-8s|"}}', 'DEV-1   |'],
    ['{{(index .list 0).t}} {{$.m.inner.t}}', '10.5 1.5'],
    ['{{0x1F}} {{1_000}} {{\'a\'}} {{`raw\\n`}} {{"a\\tb"}}', '31 1000 97 raw\\n a\tb'],
  ])('renders %s', (template, expected) => {
    expect(render(template, row)).toBe(expected)
  })

  it('finds the outer variable in an else branch, not the one of the body', () => {
    expect(render('{{$v := 1}}{{if false}}{{$v := 2}}{{else}}{{$v}}{{end}}')).toBe('1')
  })

  it('keeps 19-digit integers exact', () => {
    expect(render('{{.id}} {{json .}}', { id: 1795292668348461056n })).toBe(
      '1795292668348461056 {"id":1795292668348461056}',
    )
  })

  it('tells int from int64 where Go does', () => {
    expect(
      render('{{has 2 .arr}} {{has (int64 2) .arr}} {{eq 2 (index .arr 1)}} {{typeOf 1}} {{typeOf .n}}', {
        arr: [1n, 2n],
        n: 1n,
      }),
    ).toBe('false true true int int64')
  })

  it('lets a variable outlive nothing and a template see only its own', () => {
    expect(failure(() => render('{{if true}}{{$a := 1}}{{end}}{{$a}}')).message).toContain('undefined variable "$a"')
    expect(failure(() => render('{{$v := 1}}{{define "q"}}{{$v}}{{end}}')).message).toContain('undefined variable')
  })
})

describe('errors', () => {
  it('names line and column of a template that does not parse', () => {
    const error = failure(() => compileTemplate('line one\n{{if .a}}x{{end}} {{unknown 1}}', options)) as IxionError
    expect(error).toMatchObject({ code: 'INVALID_PROPERTY', line: 2, column: 21 })
    expect(error.message).toBe('template: sink:2: function "unknown" not defined')
  })

  it('says why a function is left out', () => {
    expect(failure(() => compileTemplate('{{env "HOME"}}', options)).message).toBe(
      'template: sink:1: function "env" not defined: templates cannot look at the host',
    )
  })

  it.each([
    [
      '{{.n | upper}}',
      'template: sink:1:7: executing "sink" at <upper>: wrong type for value; expected string; got int64',
    ],
    [
      '{{div 1 0}}',
      'template: sink:1:2: executing "sink" at <div 1 0>: error calling div: runtime error: integer divide by zero',
    ],
    ['{{.none.x}}', 'template: sink:1:7: executing "sink" at <.none.x>: nil pointer evaluating interface {}.x'],
    [
      '{{lt .f 1}}',
      'template: sink:1:2: executing "sink" at <lt .f 1>: error calling lt: incompatible types for comparison: float64 and int',
    ],
    [
      'ab\n {{index .list 9}}',
      'template: sink:2:3: executing "sink" at <index .list 9>: error calling index: index out of range: 9',
    ],
    ['{{range .id}}{{end}}', 'template: sink:1:8: executing "sink" at <.id>: range can\'t iterate over dev-1'],
    [
      '{{template "none"}}',
      'template: sink:1:11: executing "sink" at <{{template "none"}}>: template "none" not defined',
    ],
  ])('reports where %s failed', (template, message) => {
    const error = failure(() => render(template, row))
    expect(error).toBeInstanceOf(RowError)
    expect(error.message).toBe(message)
  })

  it('says what a list of rows cannot do', () => {
    expect(failure(() => render('{{.a}}', [{ a: 1 }])).message).toBe(
      'template: sink:1:2: executing "sink" at <.a>: can\'t evaluate field a in type []map[string]interface {}',
    )
  })
})

describe('limits', () => {
  const limited = (template: string, input: Value = {}): RowError =>
    failure(() => render(template, input, { maxOutputBytes: 1000, maxSteps: 10_000 })) as RowError

  it.each([
    '{{range until 2000}}xx{{end}}',
    '{{repeat 1000000000 "x"}}',
    '{{until 1000000000}}',
    '{{seq 1 1000000000}}',
    '{{range 1000000000}}{{end}}',
    '{{define "r"}}{{template "r" .}}{{end}}{{template "r" .}}',
    '{{$d := dict}}{{$_ := set $d "self" $d}}{{$d}}',
    '{{$d := dict}}{{$_ := set $d "self" $d}}{{json $d}}',
    '{{$l := list 1}}{{range until 60}}{{$l = concat $l $l}}{{end}}',
    '{{$l := list 1}}{{range until 60}}{{$l = list $l $l}}{{end}}{{$l}}',
    '{{$s := "x"}}{{range until 60}}{{$s = printf "%s%s" $s $s}}{{end}}',
    '{{printf "%1000000d" 1}}',
    '{{indent 100000000 "x"}}',
    '{{replace "" "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" (repeat 900 "y")}}',
    '{{regexReplaceAll "" (repeat 900 "y") "0123456789"}}',
    '{{range until 100}}{{range until 100}}{{range until 100}}{{end}}{{end}}{{end}}',
    '{{$é := 1}}{{range until 1000}}{{$é}}é{{end}}',
  ])('stops %s', (template) => {
    expect(limited(template).code).toBe('LIMIT')
  })

  it('counts bytes, not characters', () => {
    const exact = '{{repeat 250 "é"}}'
    expect(render(exact, {}, { maxOutputBytes: 500 })).toHaveLength(250)
    expect((failure(() => render(exact, {}, { maxOutputBytes: 499 })) as RowError).code).toBe('LIMIT')
  })

  it('refuses deep nesting while parsing', () => {
    expect(failure(() => compileTemplate(`{{${'('.repeat(5000)}1${')'.repeat(5000)}}}`, options)).message).toContain(
      'nesting',
    )
    expect(failure(() => compileTemplate('{{if 1}}'.repeat(5000), options)).message).toContain('nesting')
  })
})

describe('safety', () => {
  it('reads no JavaScript property', () => {
    expect(
      render('{{.constructor}} {{.__proto__}} {{.toString}} {{.m.hasOwnProperty}} {{index . "valueOf"}}', { m: {} }),
    ).toBe('<no value> <no value> <no value> <no value> <no value>')
    for (const t of ['{{.s.length}}', '{{.l.length}}', '{{(now).epochMs}}', '{{.s.constructor}}', '{{(1).value}}']) {
      expect(failure(() => render(t, { s: 'x', l: [] })).message).toContain("can't evaluate field")
    }
  })

  it('keeps keys such as __proto__ as data', () => {
    expect(
      render('{{$d := dict "__proto__" 1}}{{json $d}} {{(fromJson .s).__proto__}}', { s: '{"__proto__":{"a":2}}' }),
    ).toBe('{"__proto__":1} map[a:2]')
    expect(({} as { a?: unknown }).a).toBeUndefined()
  })

  it('never changes its input', () => {
    const input = { m: { k: 1n, inner: { x: 1n } }, l: [3n, 1n] }
    const before = structuredClone(input)
    expect(
      render(
        '{{$_ := set .m "k" 5}}{{.m.k}} {{$_ := unset .m "inner"}}{{.m}} {{merge .m (dict "z" 1)}} {{sortAlpha .l}}{{reverse .l}}',
        input,
      ),
    ).toBe('5 map[k:5] map[k:5 z:1] [1 3][1 3]')
    expect(input).toEqual(before)
  })
})

describe('time and chance', () => {
  it('come from outside', () => {
    expect(render('{{now.Unix}} {{date "2006-01-02T15:04:05Z07:00" now}}', {}, { zone: 'Asia/Shanghai' })).toBe(
      '1541152486 2018-11-02T17:54:46+08:00',
    )
    expect(render('{{uuidv4}} {{randInt 1 11}} {{randAlpha 3}}')).toBe('80808080-8080-4080-8080-808080808080 6 AAA')
    expect(
      render('{{.t.Month}} {{.t.Year}} {{(.t.AddDate 0 1 0).Format "Jan 2"}}', { t: new Instant(1_541_152_486_013) }),
    ).toBe('November 2018 Dec 2')
  })

  it('asks for server properties', () => {
    expect(render('{{prop "site"}} {{prop "other"}}', {}, { property: (n) => (n === 'site' ? 'A' : undefined) })).toBe(
      'A other',
    )
  })
})

// ---- properties ----

const fields = [
  '.id',
  '.n',
  '.f',
  '.none',
  '.list',
  '.m',
  '.missing',
  '.m.inner.t',
  '.',
  '$',
  '1',
  '-2',
  '2.5',
  '"a"',
  '"%d|%v"',
  'nil',
  'true',
  "'c'",
]
const operand = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...fields) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('(list 1 "x")', '(dict "k" .n)', '(until 3)', '(now)', '(splitList "," "a,b")'),
  },
)
const callOf = fc
  .tuple(fc.constantFrom('and', 'or', ...Object.keys(functions)), fc.array(operand, { maxLength: 4 }))
  .map(([name, args]) => [name, ...args].join(' '))
const expression = fc.oneof(
  operand,
  callOf,
  fc.tuple(callOf, callOf).map(([a, b]) => `(${a}) | ${b}`),
)
const fragment: fc.Arbitrary<string> = fc.letrec<{ template: string }>((tie) => ({
  template: fc
    .array(
      fc.oneof(
        { maxDepth: 3 },
        fc.string({ maxLength: 6 }),
        expression.map((e) => `{{${e}}}`),
        fc.constantFrom(
          '{{',
          '}}',
          '{{end}}',
          '{{else}}',
          '{{- ',
          '{{break}}',
          '{{$x := 1}}',
          '{{$x}}',
          '"',
          '`',
          '(',
          '|',
        ),
        fc
          .tuple(
            fc.constantFrom('if', 'with', 'range', 'range $i, $x :='),
            expression,
            tie('template'),
            tie('template'),
          )
          .map(([word, e, a, b]) => `{{${word} ${e}}}${a}{{else}}${b}{{end}}`),
      ),
      { maxLength: 4 },
    )
    .map((parts) => parts.join('')),
})).template

const value: fc.Arbitrary<Value> = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constant(null),
    fc.boolean(),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    fc.double(),
    fc.string({ unit: 'binary' }),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom('id', 'n', 'f', 'm', 'list', '__proto__', 'k', 'inner', 't'), tie('value'), {
      maxKeys: 5,
    }),
  ),
})).value

it('throws nothing but errors with a place, and gives the same text twice', () => {
  fc.assert(
    fc.property(fragment, value, (template, input) => {
      const run = (): string => {
        try {
          return `=${render(template, input, { maxOutputBytes: 100_000, maxSteps: 20_000 })}`
        } catch (error) {
          if (error instanceof IxionError) expect(error.line).toBeGreaterThan(0)
          else {
            expect(error).toBeInstanceOf(RowError)
            expect((error as Error).message).toMatch(/^template: sink:/)
          }
          return `!${(error as Error).message}`
        }
      }
      expect(run()).toBe(run())
    }),
    { numRuns: 1500 },
  )
})
