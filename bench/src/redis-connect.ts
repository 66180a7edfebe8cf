import { Cluster, Redis } from 'ioredis'

/** A client of its own for what a URL of ours names, when it is ready. */
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

/** The only server that a URL names, to ask it what it counted. */
export async function connectToServer(url: string): Promise<Redis> {
  const client = await connect(url)
  if (client instanceof Redis) return client
  throw new Error(`Only one server can be asked what it counted, not ${url}.`)
}
