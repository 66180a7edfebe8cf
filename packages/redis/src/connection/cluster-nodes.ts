import type { Cluster, Redis } from 'ioredis'
import type { RedisConnection } from './adapters.js'
import { watchHandshake } from './handshake.js'

/**
 * Tracks the connections to the nodes of a cluster. By default ioredis connects to a node with its first command, and keeps
 * further commands in an unbounded queue. So primaries are connected as soon as they are known, and commands are sent only
 * to nodes that are ready.
 */
export function watchNodes(
  cluster: Cluster,
  timeoutMs: number,
): Pick<RedisConnection, 'isReady' | 'onReady' | 'sendTo' | 'leave'> {
  const nodes = new Map<string, Redis>()
  const listeners: (() => void)[] = []
  const notify = () => {
    for (const listener of listeners) listener()
  }
  cluster.on('ready', notify)
  cluster.on('refresh', notify)
  cluster.on('+node', (node: Redis) => {
    nodes.set(keyOf(node), node)
    node.on('ready', notify)
    node.on('connect', () => unref(node))
    watchHandshake(node, timeoutMs, () => node.disconnect())
    // Deferred, because a redirected command may be about to connect the node.
    setImmediate(() => {
      // Failures are reported by the node's error event.
      if (node.options.readOnly !== true && node.status === 'wait') node.connect().catch(() => {})
    })
  })
  cluster.on('-node', (node: Redis) => {
    if (nodes.get(keyOf(node)) === node) nodes.delete(keyOf(node))
  })

  return {
    isReady(name = '') {
      if (cluster.status !== 'ready') return false
      const node = nodes.get(name)
      // An unknown node is ready, because another node will redirect the call.
      return node === undefined || node.status === 'ready' || node.status === 'wait'
    },
    onReady: (listener) => listeners.push(listener),
    sendTo: (name, command, args) => nodes.get(name)?.call(command, args),
    // The cluster then refreshes the nodes of its slots.
    leave: (name = '') => nodes.get(name)?.disconnect(),
  }
}

/** The name of a node in `cluster.slots`. */
function keyOf({ options }: Redis): string {
  return `${options.host}:${options.port}`
}

/** Lets the process exit with an idle connection. For pending calls, a timer of the batcher keeps it alive. */
export function unref({ stream }: Redis): void {
  stream?.unref?.()
}
