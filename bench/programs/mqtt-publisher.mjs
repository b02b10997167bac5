// Load for the mqtt bench: publishes QoS 0 messages over one connection, as fast as the broker reads or at a rate, then a
// QoS 1 message whose acknowledgement says that the broker has them all. Asks the broker how many it dropped.
// argv: { port, topic, file, perSecond }. Prints { published, dropped }.
import { readFileSync } from 'node:fs'
import mqtt from 'mqtt'

const { port, topic, file, perSecond } = JSON.parse(process.argv[2])
const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`)
const payloads = readFileSync(file, 'utf8').trimEnd().split('\n')
const name = Buffer.from(topic)
const frames = payloads.map((text) => {
  const payload = Buffer.from(text)
  const remaining = 2 + name.length + payload.length
  if (remaining > 16383) throw new Error('payload too long for this program')
  const head = remaining < 128 ? [0x30, remaining] : [0x30, (remaining & 127) | 128, remaining >> 7]
  return Buffer.concat([Buffer.from([...head, name.length >> 8, name.length & 255]), name, payload])
})
const { stream } = client
const part = 200
let dropped = 0
client.on('message', (_topic, payload) => {
  dropped = Number(payload)
})
// Retained, and published again when it has changed, every second.
await client.subscribeAsync('$SYS/broker/publish/messages/dropped')
await wait(200)
const before = dropped
const started = performance.now()
for (let i = 0; i < frames.length; i += part) {
  const room = stream.write(Buffer.concat(frames.slice(i, i + part)))
  if (!room) await new Promise((resolve) => stream.once('drain', resolve))
  const early = perSecond ? ((i + part) / perSecond) * 1000 - (performance.now() - started) : 0
  if (early > 1) await wait(early)
}
await client.publishAsync(`${topic}/end`, '', { qos: 1 })
await wait(2500)
console.log(JSON.stringify({ published: frames.length, dropped: dropped - before }))
await client.endAsync()

function wait(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
