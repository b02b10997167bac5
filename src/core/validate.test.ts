import { describe, expect, test } from 'vitest'
import type { IxionError } from './errors.ts'
import type { OptionSpecs } from './options.ts'
import { closeNames, parseSize, validateOptions } from './validate.ts'

const specs: OptionSpecs = {
  topic: { type: 'string', required: true, dynamic: true, docs: '' },
  qos: { type: 'int', default: 1, minimum: 0, maximum: 2, dynamic: true, docs: '' },
  server: { type: 'string', aliases: ['brokerUrl'], docs: '' },
  password: { type: 'string', secret: true, docs: '' },
  timeout: { type: 'duration', default: 5000, minimum: 0, docs: '' },
  limit: { type: 'size', docs: '' },
  method: { type: 'string', oneOf: ['GET', 'POST'], docs: '' },
  ratio: { type: 'float', docs: '' },
  headers: { type: 'map', docs: '' },
  brokers: { type: 'list', element: 'string', docs: '' },
  tls: {
    type: 'map',
    members: { verify: { type: 'bool', default: true, docs: '' }, wait: { type: 'duration', docs: '' } },
    docs: '',
  },
  extra: { type: 'any', docs: '' },
}

const refusal = (given: Parameters<typeof validateOptions>[1]): IxionError => {
  try {
    validateOptions(specs, given, 'actions[0].mqtt')
  } catch (error) {
    return error as IxionError
  }
  throw new Error('accepted')
}

describe('validateOptions', () => {
  test('fills defaults, nested ones too, and leaves out what has none', () => {
    expect(validateOptions(specs, { topic: 't' }, '')).toEqual({
      topic: 't',
      qos: 1,
      timeout: 5000,
      tls: { verify: true },
    })
  })

  test('matches names exactly, then in any case, then by alias', () => {
    const read = validateOptions(specs, { Topic: 'x', topic: 't', QOS: 2n, BROKERURL: 'tcp://h' }, '')
    expect(read).toMatchObject({ topic: 't', qos: 2, server: 'tcp://h' })
  })

  test('turns durations into ms, sizes into bytes and cuts fractions of ints', () => {
    const read = validateOptions(specs, { topic: 't', timeout: '1m0.5s', limit: '64KB', qos: 1.9, ratio: 2n }, '')
    expect(read).toMatchObject({ timeout: 60_500, limit: 65_536, qos: 1, ratio: 2 })
    expect(validateOptions(specs, { topic: 't', timeout: 12.7 }, '')).toMatchObject({ timeout: 12 })
  })

  test('does not convert between text and numbers', () => {
    expect(refusal({ topic: 5n }).message).toBe(
      "1 error(s) decoding:\n\n* 'topic' expected type 'string', got unconvertible type 'int64', value: '5'",
    )
    expect(refusal({ topic: 't', qos: '1' }).message).toContain(
      "'qos' expected type 'int', got unconvertible type 'string'",
    )
  })

  test('reports every problem at once and names the place', () => {
    const error = refusal({ qos: 3, timeout: '400', tls: { verify: 'yes' }, brokers: ['a', 1] })
    expect(error.code).toBe('INVALID_PROPERTY')
    expect(error.path).toBe('actions[0].mqtt.topic')
    expect(error.message.split('\n').slice(2)).toEqual([
      "* 'topic' is required in actions[0].mqtt",
      "* 'qos' must be between 0 and 2, got 3",
      '* error decoding \'timeout\': time: missing unit in duration "400"',
      "* 'brokers[1]' expected type 'string', got unconvertible type 'float64', value: '1'",
      "* 'tls.verify' expected type 'bool', got unconvertible type 'string', value: 'yes'",
    ])
  })

  test('lists close names for an unknown property', () => {
    expect(refusal({ topic: 't', sever: 'x' }).message).toContain(
      "'sever' is not a property of actions[0].mqtt; did you mean 'server'?",
    )
    expect(refusal({ topic: 't', tls: { verfy: true } }).path).toBe('actions[0].mqtt.tls.verfy')
    expect(closeNames('zzz', ['topic'])).toEqual([])
  })

  test('drops or keeps unknown properties on request', () => {
    const given = JSON.parse('{"topic":"t","__proto__":{"x":1},"more":2}')
    expect(Object.keys(validateOptions(specs, given, '', { unknown: 'drop' }))).not.toContain('more')
    const kept = validateOptions(specs, given, '', { unknown: 'keep' })
    expect(kept.more).toBe(2)
    expect(Object.getPrototypeOf(kept)).toBe(Object.prototype)
  })

  test('accepts a template where the option is dynamic, and null as absent', () => {
    expect(validateOptions(specs, { topic: '{{.t}}', qos: '{{.q}}', server: null }, '')).toMatchObject({
      qos: '{{.q}}',
    })
  })

  test('gives choices their described spelling and never prints secrets', () => {
    expect(validateOptions(specs, { topic: 't', method: 'post' }, '').method).toBe('POST')
    expect(refusal({ topic: 't', method: 'put' }).message).toContain('one of GET, POST, got put')
    expect(refusal({ topic: 't', password: 12345 }).message).not.toContain('12345')
  })

  test('does not share default values between callers', () => {
    const shared: OptionSpecs = { list: { type: 'list', default: ['a'], docs: '' } }
    const first = validateOptions(shared, {}, '').list as string[]
    first.push('b')
    expect(validateOptions(shared, {}, '').list).toEqual(['a'])
  })
})

test('parseSize reads bytes and units, refuses the rest', () => {
  expect(['10', '1k', '8 MiB', '1.5GB', '7b'].map(parseSize)).toEqual([10, 1024, 8 << 20, 1.5 * 1024 ** 3, 7])
  expect(['', 'x', '-1', '1kk', '99999999999T'].map(parseSize)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
  ])
})
