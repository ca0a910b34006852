// kafkajs as the cases want it: node kafkajs.mjs HOST:PORT [member GROUP TOPIC]
import kafkajs from 'kafkajs'
import { access, fromBase64, limit, serve, sessionMs, toBase64 } from './rpc.mjs'

const { Kafka, CompressionTypes, logLevel } = kafkajs
const kafka = new Kafka({ clientId: 'kafkajs', brokers: [process.argv[2]], logLevel: logLevel.NOTHING, retry: { retries: 3 }, ...(access && { ssl: { ca: [access.ca] }, sasl: { mechanism: 'scram-sha-512', ...access.login } }) })

function fromMessage (m) {
  // kafkajs gives the headers as an object: one of several values is an array.
  const headers = Object.entries(m.headers ?? {}).flatMap(([key, v]) => (Array.isArray(v) ? v : [v]).map((value) => ({ key, value: toBase64(value) })))
  return { key: toBase64(m.key), value: toBase64(m.value), headers, time: Number(m.timestamp), offset: Number(m.offset) }
}

function toMessage (r, partition) {
  const headers = {}
  for (const h of r.headers ?? []) {
    const value = fromBase64(h.value)
    headers[h.key] = h.key in headers ? [headers[h.key], value].flat() : value
  }
  return { key: fromBase64(r.key), value: fromBase64(r.value), headers, partition, ...(r.time ? { timestamp: String(r.time) } : {}) }
}

await serve({
  async produce ({ topic, partition, codec, idempotent, records }) {
    const producer = kafka.producer({ idempotent, retry: { retries: 5 } })
    await producer.connect()
    try {
      const compression = codec === 'gzip' ? CompressionTypes.GZIP : CompressionTypes.None
      await producer.send({ topic, compression, acks: -1, messages: records.map((r) => toMessage(r, partition)) })
    } finally {
      await producer.disconnect()
    }
  },
  async consume ({ topic, partition, offset, n }) {
    const consumer = kafka.consumer({ groupId: `reader-${topic}-${offset}-${Date.now()}`, maxBytesPerPartition: limit, maxBytes: limit })
    await consumer.connect()
    await consumer.subscribe({ topic, fromBeginning: true })
    const got = []
    try {
      await new Promise((resolve, reject) => {
        consumer.on(consumer.events.CRASH, (e) => reject(e.payload.error))
        consumer.run({
          autoCommit: false,
          eachMessage: async ({ partition: p, message }) => {
            if (p === partition && Number(message.offset) >= offset && got.length < n) got.push(fromMessage(message))
            if (got.length >= n) resolve()
          }
        }).catch(reject)
        consumer.seek({ topic, partition, offset: String(offset) })
      })
    } finally {
      await consumer.disconnect()
    }
    return got
  },
  async offsetAt ({ topic, partition, at }) {
    const admin = kafka.admin()
    await admin.connect()
    try {
      const found = await admin.fetchTopicOffsetsByTimestamp(topic, at)
      return Number(found.find((p) => p.partition === partition).offset)
    } finally {
      await admin.disconnect()
    }
  },
  async member ({ group, topic, each }) {
    const consumer = kafka.consumer({ groupId: group, sessionTimeout: sessionMs, heartbeatInterval: 1000, rebalanceTimeout: 10000 })
    await consumer.connect()
    await consumer.subscribe({ topic, fromBeginning: true })
    await consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => {
        await each(fromMessage(message))
        await consumer.commitOffsets([{ topic, partition, offset: String(Number(message.offset) + 1) }])
      }
    })
    return () => consumer.disconnect()
  },
  async transact ({ topic, group, txns }) {
    const producer = kafka.producer({ transactionalId: `txn-${topic}`, idempotent: true, maxInFlightRequests: 1 })
    await producer.connect()
    try {
      for (const { value, at, commit } of txns) {
        const txn = await producer.transaction()
        await txn.send({ topic, messages: [{ value }] })
        await txn.sendOffsets({ consumerGroupId: group, topics: [{ topic, partitions: [{ partition: 0, offset: String(at) }] }] })
        await (commit ? txn.commit() : txn.abort())
      }
    } finally {
      await producer.disconnect()
    }
  }
})
