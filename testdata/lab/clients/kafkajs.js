// kafkajs behind the commands of the laboratory: one JSON command a line on standard input, one JSON
// answer a line on standard output. It has no batching by time: what is sent together goes together.
const readline = require('readline')
const { Kafka, CompressionTypes, CompressionCodecs, Partitioners, logLevel } = require('kafkajs')
const lz4 = require('lz4-napi')
const { ZstdCodec } = require('zstd-codec')

CompressionCodecs[CompressionTypes.Snappy] = require('kafkajs-snappy')
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: encoder => lz4.compressFrame(encoder.buffer),
  decompress: buffer => lz4.decompressFrame(buffer),
})
const zstd = new Promise(resolve => ZstdCodec.run(made => resolve(new made.Simple())))
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async encoder => Buffer.from((await zstd).compress(encoder.buffer)),
  decompress: async buffer => Buffer.from((await zstd).decompress(buffer)),
})
const CODECS = {
  none: CompressionTypes.None, gzip: CompressionTypes.GZIP, snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4, zstd: CompressionTypes.ZSTD,
}

class Session {
  static async make(settings) {
    const kafka = new Kafka({
      brokers: [settings['bootstrap.servers']], logLevel: logLevel.NOTHING,
      requestTimeout: Number(settings['request.timeout.ms'] || 30000),
      retry: { initialRetryTime: 100, retries: 10 },
    })
    const session = new Session()
    const unprotected = settings['enable.idempotence'] === 'false' || ['0', '1'].includes(settings.acks)
    session.codec = CODECS[settings['compression.type'] || 'none']
    session.acks = Number(settings.acks === undefined || settings.acks === 'all' ? -1 : settings.acks)
    session.producer = kafka.producer({
      idempotent: !unprotected, transactionalId: settings['transactional.id'], maxInFlightRequests: unprotected ? 5 : 1,
      createPartitioner: () => {
        const choose = Partitioners.DefaultPartitioner()
        return asked => {
          const partition = choose(asked)
          session.partitions.set(asked.message, partition)
          return partition
        }
      },
    })
    session.partitions = new WeakMap()
    session.waiting = []
    session.underway = []
    await session.producer.connect()
    return session
  }

  send(record) {
    const headers = record.headers || {}
    const message = { key: record.key ?? null, value: record.value ?? null, headers }
    if (record.partition != null) message.partition = record.partition
    if (record.time != null) message.timestamp = String(record.time)
    this.waiting.push({ topic: record.topic, message })
  }

  // Hands over what waits, one request for what stands together; the answers come with `finish`.
  flush() {
    const sends = this.waiting
    this.waiting = []
    for (let at = 0; at < sends.length;) {
      let end = at
      while (end < sends.length && sends[end].topic === sends[at].topic) end++
      const part = sends.slice(at, end)
      const to = this.transaction || this.producer
      const messages = part.map(s => s.message)
      const sent = to.send({ topic: part[0].topic, messages, acks: this.acks, compression: this.codec })
      this.underway.push(sent.then(answers => this.places(messages, answers), error => messages.map(() => ({ error: error.name }))))
      at = end
    }
  }

  // An answer tells the first offset in each partition; a request has one batch for each.
  places(messages, answers) {
    const next = {}
    for (const answer of answers) next[answer.partition] = Number(answer.baseOffset)
    return messages.map(message => {
      const partition = this.partitions.get(message)
      return { partition, offset: next[partition] === undefined ? -1 : next[partition]++ }
    })
  }

  async finish() {
    this.flush()
    const results = (await Promise.all(this.underway)).flat()
    this.underway = []
    return results
  }
}

const sessions = {}

async function obey(command) {
  const session = sessions[command.name]
  switch (command.do) {
    case 'producer':
      sessions[command.name] = await Session.make(command.settings)
      return {}
    case 'send': {
      let results = []
      for (const record of command.records) {
        session.send(record)
        if (command.mode === 'each') results = results.concat(await session.finish())
        if (command.pause) {
          session.flush()
          await new Promise(resolve => setTimeout(resolve, command.pause))
        }
      }
      if (command.mode === 'later') session.flush()
      if (command.mode === 'batch') results = await session.finish()
      return { results }
    }
    case 'results':
      return { results: await session.finish() }
    case 'begin':
      session.transaction = await session.producer.transaction()
      return {}
    case 'commit':
    case 'abort': {
      const transaction = session.transaction
      session.transaction = null
      await transaction[command.do]()
      return {}
    }
    case 'close':
      delete sessions[command.name]
      await session.producer.disconnect()
      return {}
    default:
      throw new Error(`unknown command ${command.do}`)
  }
}

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    let answer
    try {
      answer = await obey(JSON.parse(line))
    } catch (error) {
      answer = { error: `${error.name}: ${error.message}` }
    }
    process.stdout.write(JSON.stringify(answer) + '\n')
  }
}

main()
