// A SQL function of one's own. Run: npx tsx examples/custom-function.ts
import { createEngine, type FunctionDefinition } from 'ixion'

const dewPoint: FunctionDefinition = {
  kind: 'scalar',
  name: 'dew_point',
  family: 'own',
  docs: 'Dew point in degrees Celsius from temperature and relative humidity (Magnus formula).',
  args: [
    { name: 'celsius', type: 'number' },
    { name: 'humidity', type: 'number', docs: 'Percent.' },
  ],
  examples: [{ expression: 'dew_point(20, 100)', result: 20 }],
  validate: (args) => (args.length === 2 ? null : `Expect 2 arguments but found ${args.length}.`),
  nulls: 'nullIfAny', // a missing argument gives null and `run` is not called
  deterministic: true,
  run: ([celsius, humidity]) => {
    // An int64 arrives as bigint, a float64 as number.
    const t = Number(celsius)
    const gamma = Math.log(Number(humidity) / 100) + (17.625 * t) / (243.04 + t)
    return Math.round((243.04 * gamma * 100) / (17.625 - gamma)) / 100
  },
}

const engine = await createEngine({ functions: [dewPoint] })
await engine.execute('CREATE STREAM room () WITH (TYPE="memory", DATASOURCE="room")')
await engine.query({
  sql: 'SELECT name, dew_point(temp, humidity) AS dew FROM room',
  onResult: (rows) => console.log(rows),
})
await engine.feedRows('room', [{ name: 'cellar', temp: 12.5, humidity: 80 }, { name: 'attic' }])
await engine.close()
