import { Redis } from 'ioredis'

/** A client for the test's own commands to one server. */
export function clientOf(server: { port: number }): Redis {
  const client = new Redis({ port: server.port, host: '127.0.0.1', maxRetriesPerRequest: 1 })
  client.on('error', () => {})
  return client
}

export async function isPrimary(server: { port: number }): Promise<boolean> {
  const client = clientOf(server)
  try {
    return (await client.info('replication')).includes('role:master')
  } finally {
    client.disconnect()
  }
}
