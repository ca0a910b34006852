// What the programs of the clients have in common: one JSON request per line on standard input, one answer per line on standard output.
// A member of a group prints records instead, and leaves when the input ends. Bytes are base64, null is null.
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

export const fromBase64 = (text) => (text === null || text === undefined ? null : Buffer.from(text, 'base64'))
export const toBase64 = (bytes) => (bytes === null || bytes === undefined ? null : Buffer.from(bytes).toString('base64'))
export const sessionMs = 6000
// access is how to log in over TLS; undefined where nobody is asked to.
export const access = process.env.CLIENTS_CA && {
  ca: readFileSync(process.env.CLIENTS_CA, 'utf8'),
  login: { username: process.env.CLIENTS_USER, password: process.env.CLIENTS_PASSWORD }
}
export const limit = 11 << 20

/** write prints one line and waits until it is out, however large. */
export function write (doc) {
  return new Promise((resolve) => process.stdout.write(JSON.stringify(doc) + '\n', resolve))
}

/** serve answers requests with the methods of a client until the input ends. */
export async function serve (client) {
  if (process.argv[3] === 'member') return serveMember(client)
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    const q = JSON.parse(line)
    try {
      await write({ result: (await client[q.op](q)) ?? null })
    } catch (err) {
      const codes = [err, err?.cause, ...(err?.errors ?? [])].filter(Boolean)
      await write({ error: codes.map((e) => [e.type, e.apiId, e.code, e.message].filter(Boolean).join(' ')).join('; ') || String(err) })
    }
  }
  process.exit(0)
}

async function serveMember (client) {
  const [, , , , group, topic] = process.argv
  const leave = await client.member({ group, topic, each: (r) => write(r) })
  process.stdin.resume()
  process.stdin.on('end', async () => {
    await leave()
    process.exit(0)
  })
}
