import { describe, expect, test } from 'vitest'
import { testFunctions } from '../../test/support/sql-functions.ts'
import type { StreamDefinition } from './ast.ts'
import { definitionFromJson, definitionToJson, describeDefinition, schemaToJson } from './definition.ts'
import { parseStatement } from './index.ts'

const create = (text: string) => parseStatement(text, { functions: testFunctions }) as StreamDefinition
const message = (text: string): string => {
  try {
    create(text)
  } catch (error) {
    return (error as Error).message
  }
  return ''
}

const everything = create(`CREATE TABLE \`my-table\` (
    id BIGINT DEFAULT "0x10", temp FLOAT DEFAULT -2.5, on_ BOOLEAN DEFAULT TRUE, name string DEFAULT 'a "b"',
    raw BYTEA, at DATETIME, tags ARRAY(ARRAY(STRING)), pos STRUCT(x BIGINT, y ARRAY(STRUCT(z FLOAT))),
  ) WITH (datasource="dev/+" FORMAT="JSON", KEY="id", CONF_KEY="c", TYPE="memory", STRICT_VALIDATION="True",
    TIMESTAMP="at", TIMESTAMP_FORMAT="yyyy", RETAIN_SIZE="3", SHARED=TRUE, SCHEMAID="a.b", EXTRA="{\\"a\\":1}",
    VERSION="V1", TEMP="false", KIND="LOOKUP", DELIMITER=";", buffer_full_policy="dropoldest", LATE_POLICY="drop",
    MAX_FUTURE_SKEW="60s", IDLE_TIMEOUT="1m", PARTITION_LIMIT="100");`)

test('every type and option is read', () => {
  expect(everything.fields?.map((f) => f.default)).toEqual([16n, -2.5, true, 'a "b"', ...Array(4).fill(undefined)])
  expect(everything.options).toEqual({
    datasource: 'dev/+',
    format: 'JSON',
    key: 'id',
    confKey: 'c',
    type: 'memory',
    strictValidation: true,
    timestamp: 'at',
    timestampFormat: 'yyyy',
    retainSize: 3,
    shared: true,
    schemaId: 'a.b',
    extra: '{"a":1}',
    version: 'v1',
    temp: false,
    kind: 'lookup',
    delimiter: ';',
    extensions: {
      buffer_full_policy: 'dropOldest',
      late_policy: 'drop',
      max_future_skew: '60s',
      idle_timeout: '1m',
      partition_limit: '100',
    },
  })
})

describe('errors', () => {
  const keys =
    'DATASOURCE|FORMAT|KEY|CONF_KEY|SHARED|STRICT_VALIDATION|TYPE|TIMESTAMP|TIMESTAMP_FORMAT|RETAIN_SIZE|SCHEMAID|EXTRA|VERSION|TEMP|KIND|DELIMITER'
  test.each([
    ['CREATE VIEW d', 'found "VIEW", expected keyword stream or table.'],
    ['CREATE STREAM 1', 'found "1", expected stream name.'],
    ['CREATE STREAM d WITH ()', 'found "WITH", expected lparen after stream name.'],
    [
      'CREATE STREAM d (a INT) WITH ()',
      'found "INT", expect valid stream field types(BIGINT | FLOAT | STRING | DATETIME | BOOLEAN | BYTEA | ARRAY | STRUCT).',
    ],
    ['CREATE STREAM d (a BIGINT b) WITH ()', 'found "b", expect comma or rparen.'],
    ['CREATE STREAM d (1) WITH ()', 'found "1", expect stream field name.'],
    ['CREATE STREAM d () OPTIONS ()', 'found "OPTIONS", expected is with.'],
    ['CREATE STREAM d (a BIGINT)) WITH ()', 'found ")", expect stream options.'],
    ['CREATE STREAM d () WITH (FOO="a")', `found "FOO", unknown option keys(${keys}).`],
    ['CREATE STREAM d () WITH (', `found "EOF", unknown option keys(${keys}).`],
    ['CREATE STREAM d () WITH (FORMAT "json")', 'found "json", expect equals(=) in options.'],
    ["CREATE STREAM d () WITH (FORMAT='json')", 'found "json", expect string or boolean value in option.'],
    ['CREATE STREAM d () WITH (RETAIN_SIZE="x")', 'found "x", expect number value in RETAIN_SIZE option.'],
    ['CREATE STREAM d () WITH (SHARED="yes")', 'found "yes", expect TRUE/FALSE value in SHARED option.'],
    ['CREATE STREAM d () WITH (EXTRA="{")', 'invalid extra option, expect JSON string'],
    ['CREATE STREAM d () WITH (FORMAT="xml")', "option 'format=xml' is invalid"],
    ['CREATE STREAM d () WITH () x', 'found "x", expected semicolon or EOF.'],
    ['CREATE TABLE d () WITH (FORMAT="binary")', "'binary' format is not supported for table"],
    ['CREATE STREAM d (a BYTEA, b BYTEA) WITH (FORMAT="binary")', "'binary' format stream can have only one field"],
    ['CREATE STREAM d (a STRING) WITH (FORMAT="binary")', "'binary' format stream can have only 'bytea' type field"],
    ['CREATE STREAM d (a BYTEA DEFAULT "x") WITH ()', 'DEFAULT clause is not supported for bytea'],
    ['CREATE STREAM d (a STRUCT(b STRING) DEFAULT "x") WITH ()', 'found "DEFAULT", expected is with.'],
    ['CREATE STREAM d (a STRUCT()) WITH ()', 'found ")", expected is with.'],
    ['CREATE STREAM d (a ARRAY(STRING) DEFAULT "x") WITH ()', 'DEFAULT clause is not supported for *ast.ArrayType'],
    ['CREATE STREAM d (a FLOAT DEFAULT "x") WITH ()', 'cannot convert string(x) to float64'],
    ['CREATE STREAM d (a BIGINT DEFAULT b) WITH ()', 'found "b", expect default constraint value.'],
    ['CREATE STREAM d () WITH (LATE_POLICY="x")', 'found "x", expect one of drop, side, reopen in LATE_POLICY option.'],
    [
      'CREATE STREAM d () WITH (PARTITION_LIMIT="0")',
      'found "0", expect a whole number above 0 in PARTITION_LIMIT option.',
    ],
    ['CREATE TABLE d () WITH (KIND="lookup", TYPE="memory")', 'Option "key" is required for memory lookup table.'],
    ['SHOW STREAM', 'found "STREAM", expected keyword streams or tables.'],
    ['SHOW TABLES x', 'found "x", expected semecolon or EOF.'],
    ['DROP TABLE 1', 'found "1", expected table name.'],
    ['EXPLAIN VIEW x', 'found "VIEW", expected keyword stream or table.'],
  ])('%s', (sql, expected) => {
    expect(message(sql)).toBe(expected)
  })
})

test('a definition goes to JSON and back', () => {
  const json = definitionToJson(everything)
  expect(JSON.stringify(json)).toBe(
    '{"Name":"my-table","StreamFields":[{"FieldType":"bigint","Name":"id","DefaultClause":"16"},' +
      '{"FieldType":"float","Name":"temp","DefaultClause":"-2.5"},{"FieldType":"boolean","Name":"on_","DefaultClause":"true"},' +
      '{"FieldType":"string","Name":"name","DefaultClause":"a \\"b\\""},{"FieldType":"bytea","Name":"raw"},' +
      '{"FieldType":"datetime","Name":"at"},' +
      '{"FieldType":{"Type":"array","ElementType":{"Type":"array","ElementType":"string"}},"Name":"tags"},' +
      '{"FieldType":{"Type":"struct","Fields":[{"FieldType":"bigint","Name":"x"},' +
      '{"FieldType":{"Type":"array","ElementType":{"Type":"struct","Fields":[{"FieldType":"float","Name":"z"}]}},"Name":"y"}]},"Name":"pos"}],' +
      '"Options":{"datasource":"dev/+","key":"id","format":"JSON","confKey":"c","type":"memory","strictValidation":true,' +
      '"timestamp":"at","timestampFormat":"yyyy","shared":true,"schemaid":"a.b","version":"v1","extra":"{\\"a\\":1}",' +
      '"retainSize":3,"kind":"lookup","delimiter":";","buffer_full_policy":"dropOldest","late_policy":"drop",' +
      '"max_future_skew":"60s","idle_timeout":"1m","partition_limit":"100"},"StreamType":1,"Statement":null}',
  )
  const { temp: _, ...set } = everything.options
  expect(definitionFromJson(JSON.parse(JSON.stringify(json)))).toEqual({ ...everything, options: set })
})

test('a schemaless definition has no fields in JSON', () => {
  const json = definitionToJson(create('CREATE STREAM d () WITH ()'))
  expect(json).toEqual({ Name: 'd', StreamFields: null, Options: {}, StreamType: 0, Statement: null })
})

test.each([
  [null, 'the document must be an object'],
  [{ Name: 'a', StreamType: 2 }, 'StreamType must be 0 (stream) or 1 (table)'],
  [{ StreamType: 0 }, 'Name must be a string'],
  [{ Name: 'a', StreamType: 0, StreamFields: [{ Name: 'x', FieldType: 'int' }] }, 'StreamFields[0].FieldType must be'],
  [{ Name: 'a', StreamType: 0, Options: { shared: 'yes' } }, 'Options.shared must be a boolean'],
  [{ Name: 'a', StreamType: 0, Options: JSON.parse('{"__proto__":"x"}') }, 'Options.__proto__ must be a known option'],
])('the JSON form %j is refused', (json, expected) => {
  expect(() => definitionFromJson(json)).toThrow(expected)
})

test('DESCRIBE shows fields with defaults, then the options set', () => {
  const d = create(
    'CREATE STREAM d (a BIGINT DEFAULT 3, p STRUCT(x STRING, y ARRAY(BIGINT))) WITH (DATASOURCE="t", SHARED="true", TYPE="mqtt")',
  )
  expect(describeDefinition(d)).toBe(
    `Fields\n${'-'.repeat(80)}\na\tbigint\tDEFAULT\t3\np\tstruct(x string, y array(bigint))\n\nDATASOURCE: t\nSHARED: true\nTYPE: mqtt\n`,
  )
})

test('declared columns as schema JSON', () => {
  const d = create('CREATE STREAM d (id STRING DEFAULT "x", pos STRUCT(x BIGINT), tags ARRAY(STRING)) WITH ()')
  expect(JSON.stringify(schemaToJson(d.fields))).toBe(
    '{"id":{"type":"string","default":"x","index":0},"pos":{"type":"struct","properties":{"x":{"type":"bigint","index":0}},"index":0},' +
      '"tags":{"type":"array","items":{"type":"string","index":0},"index":0}}',
  )
  expect(schemaToJson(null)).toBeNull()
})
