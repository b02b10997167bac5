// Load for the http-push bench: posts a file of JSON lines as arrays over keep-alive connections, one request at a time on
// each. argv: { port, path, file, perRequest, connections }. Prints { sent, refused }.
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'

const { port, path, file, perRequest, connections } = JSON.parse(process.argv[2])
const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
const requests = []
for (let i = 0; i < lines.length; i += perRequest) {
  const body = Buffer.from(`[${lines.slice(i, i + perRequest).join(',')}]`)
  const head = `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
  requests.push({ bytes: Buffer.concat([Buffer.from(head), body]), events: Math.min(perRequest, lines.length - i) })
}
let next = 0
let sent = 0
let refused = 0
await Promise.all(Array.from({ length: connections }, worker))
console.log(JSON.stringify({ sent, refused }))

function worker() {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    socket.setNoDelay(true)
    let current
    let answer = ''
    const send = () => {
      current = requests[next++]
      if (!current) {
        socket.end()
        resolve()
        return
      }
      socket.write(current.bytes)
    }
    socket.on('connect', send)
    socket.on('error', reject)
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1')
      const head = answer.indexOf('\r\n\r\n')
      if (head < 0) return
      const length = Number(/content-length: (\d+)/i.exec(answer)?.[1] ?? 0)
      if (answer.length < head + 4 + length) return
      if (answer.startsWith('HTTP/1.1 200')) sent += current.events
      else refused += current.events
      answer = ''
      send()
    })
  })
}
