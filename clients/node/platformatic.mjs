// @platformatic/kafka as the cases want it: node platformatic.mjs HOST:PORT [member GROUP TOPIC]
import { Consumer, MessagesStreamFallbackModes, MessagesStreamModes, Producer } from '@platformatic/kafka'
import { fromBase64, limit, serve, sessionMs, toBase64 } from './rpc.mjs'

const base = { clientId: 'platformatic', bootstrapBrokers: [process.argv[2]], retries: 3 }

function fromMessage (m) {
  const headers = [...m.headers].map(([key, value]) => ({ key: key.toString(), value: toBase64(value) }))
  return { key: toBase64(m.key), value: toBase64(m.value), headers, time: Number(m.timestamp), offset: Number(m.offset) }
}

function toMessage (topic, partition, r) {
  // A Map of buffers keeps several headers of one name apart.
  const headers = new Map((r.headers ?? []).map((h) => [Buffer.from(h.key), fromBase64(h.value)]))
  return { topic, partition, key: fromBase64(r.key), value: fromBase64(r.value), headers, ...(r.time ? { timestamp: BigInt(r.time) } : {}) }
}

await serve({
  async produce ({ topic, partition, codec, idempotent, records }) {
    const producer = new Producer({ ...base, idempotent })
    try {
      await producer.send({ messages: records.map((r) => toMessage(topic, partition, r)), compression: codec, acks: -1 })
    } finally {
      await producer.close()
    }
  },
  async consume ({ topic, partition, offset, n }) {
    const consumer = new Consumer({ ...base, groupId: `reader-${topic}-${offset}-${Date.now()}`, maxBytes: limit })
    const got = []
    try {
      const stream = await consumer.consume({
        topics: [topic], mode: MessagesStreamModes.MANUAL, offsets: [{ topic, partition, offset: BigInt(offset) }], autocommit: false, maxWaitTime: 500
      })
      for await (const m of stream) {
        got.push(fromMessage(m))
        if (got.length >= n) break
      }
    } finally {
      await consumer.close(true)
    }
    return got
  },
  async offsetAt ({ topic, partition, at }) {
    const consumer = new Consumer({ ...base, groupId: 'unused' })
    try {
      const found = await consumer.listOffsets({ topics: [topic], partitions: { [topic]: [partition] }, timestamp: BigInt(at) })
      return Number(found.get(topic)[partition])
    } finally {
      await consumer.close(true)
    }
  },
  async member ({ group, topic, each }) {
    const consumer = new Consumer({ ...base, groupId: group, sessionTimeout: sessionMs, heartbeatInterval: 1000, rebalanceTimeout: 10000 })
    const stream = await consumer.consume({
      topics: [topic], mode: MessagesStreamModes.COMMITTED, fallbackMode: MessagesStreamFallbackModes.EARLIEST, autocommit: false, maxWaitTime: 500
    })
    const done = (async () => {
      for await (const m of stream) {
        await each(fromMessage(m))
        await m.commit()
      }
    })()
    done.catch((err) => console.error('member:', err.message))
    return () => consumer.close(true)
  },
  async transact ({ topic, txns }) {
    const producer = new Producer({ ...base, idempotent: true, transactionalId: `txn-${topic}` })
    try {
      for (const { value, commit } of txns) {
        const txn = await producer.beginTransaction()
        await txn.send({ messages: [{ topic, partition: 0, value: Buffer.from(value) }] })
        await (commit ? txn.commit() : txn.abort())
      }
    } finally {
      await producer.close(true)
    }
  }
})
