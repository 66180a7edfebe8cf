import { Cluster, Redis } from 'ioredis'

/** Connects a new ioredis client to the server or cluster of a Tidegate store URL. */
export async function connect(url: string): Promise<Redis | Cluster> {
  const [, isCluster, hosts = ''] = /^redis(\+cluster)?:\/\/(.+)$/.exec(url) ?? []
  const nodes = hosts.split(',').map((host) => {
    const [name = '', port] = host.split(':')
    return { host: name, port: Number(port) }
  })
  const client = isCluster ? new Cluster(nodes) : new Redis(nodes[0]!)
  await new Promise((resolve, reject) => client.once('ready', resolve).once('error', reject))
  return client
}

/** Connects to a single server, to read its statistics. */
export async function connectToServer(url: string): Promise<Redis> {
  const client = await connect(url)
  if (client instanceof Redis) return client
  throw new Error(`Statistics need a single server, got ${url}.`)
}
