// A connector of one's own: a source that counts and a sink that prints. Run: npx tsx examples/custom-connector.ts
import { builtinConnectors, type ConnectorDefinition, createEngine } from 'ixion'

const counter: ConnectorDefinition = {
  name: 'counter',
  source: {
    name: 'counter',
    docs: 'Counts up to DATASOURCE and ends.',
    emits: 'rows',
    pausable: true, // it waits when `deliver` returns a promise, so nothing is dropped
    bounded: true,
    options: { step: { type: 'int', default: 1, minimum: 1, docs: 'Difference of two numbers.' } },
    create: (datasource, properties, context) => ({
      async connect() {},
      async read(deliver, signal) {
        const step = Number(properties['step'])
        for (let n = step; n <= Number(datasource) && !signal.aborted; n += step) {
          await deliver({ kind: 'rows', rows: [{ n: BigInt(n) }], meta: [null], timestamp: context.clock.now() })
        }
        return 'ended'
      },
      async close() {},
    }),
  },
  sink: {
    name: 'counter',
    docs: 'Prints each payload on a line.',
    takes: 'bytes',
    options: { prefix: { type: 'string', default: '', docs: 'Text before each payload.' } },
    create: (properties) => ({
      async connect() {},
      async send(item) {
        console.log(`${properties['prefix']}${new TextDecoder().decode(item.payload ?? undefined)}`)
      },
      async close() {},
    }),
  },
}

const engine = await createEngine({ connectors: [...builtinConnectors, counter] })
await engine.execute('CREATE STREAM numbers (n BIGINT) WITH (TYPE="counter", DATASOURCE="6")')
await engine.createRule({
  id: 'squares',
  sql: 'SELECT n, n * n AS square FROM numbers WHERE n % 2 = 0',
  actions: [{ counter: { prefix: '> ', sendSingle: true } }],
})
while (engine.ruleStatus('squares').status === 'running') await new Promise((resolve) => setTimeout(resolve, 10))
console.log(engine.ruleStatus('squares').message, engine.ruleLedger('squares').rule)
await engine.close()
