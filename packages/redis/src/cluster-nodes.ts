import type { Cluster, Redis } from 'ioredis'
import type { RedisConnection } from './connection.js'

/**
 * Which node a slot is on, and whether it can be written to. By itself ioredis connects to a node with the first
 * command for it, and then keeps what comes next in a queue of its own that lets go of nothing; so primaries are
 * connected to as soon as they are known, and nothing is sent to one that is not ready.
 */
export function watchNodes(cluster: Cluster): Pick<RedisConnection, 'isReady' | 'onReady' | 'nodeOf'> {
  const nodes = new Map<string, Redis>()
  const listeners: (() => void)[] = []
  const tell = () => {
    for (const listener of listeners) listener()
  }
  cluster.on('ready', tell)
  cluster.on('+node', (node: Redis) => {
    nodes.set(keyOf(node), node)
    node.on('ready', tell)
    // Later, because a command that was redirected here may be about to connect by itself.
    setImmediate(() => {
      // What fails here is an error of the node, and told as such.
      if (node.options.readOnly !== true && node.status === 'wait') node.connect().catch(() => {})
    })
  })
  cluster.on('-node', (node: Redis) => {
    if (nodes.get(keyOf(node)) === node) nodes.delete(keyOf(node))
  })

  const nodeOf = (slot: number) => cluster.slots[slot]?.[0]
  return {
    isReady(slot) {
      if (cluster.status !== 'ready') return false
      const node = nodes.get(nodeOf(slot) ?? '')
      // A slot that nobody is known to have, or one that is gone: some other node will say who has it now.
      return node === undefined || node.status === 'ready' || node.status === 'wait'
    },
    onReady: (listener) => listeners.push(listener),
    nodeOf,
  }
}

/** As nodes are named in `cluster.slots`. */
function keyOf({ options }: Redis): string {
  return `${options.host}:${options.port}`
}
