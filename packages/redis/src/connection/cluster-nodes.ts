import type { Cluster, Redis } from 'ioredis'
import type { RedisConnection } from './adapters.js'
import { watchHandshake } from './handshake.js'

/**
 * Tracks the node of each slot, and whether it can be written to. On its own ioredis connects to a node with the first
 * command for it, and keeps later commands in an unbounded queue; so primaries are connected as soon as they are known,
 * and nothing is sent to a node that is not ready.
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
    // Later, because a redirected command may be about to connect the node.
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
      // Not a known node: another node will redirect the call.
      return node === undefined || node.status === 'ready' || node.status === 'wait'
    },
    onReady: (listener) => listeners.push(listener),
    sendTo: (name, command, args) => nodes.get(name)?.call(command, args),
    // The cluster then looks for the nodes of its slots again.
    leave: (name = '') => nodes.get(name)?.disconnect(),
  }
}

/** Nodes as `cluster.slots` names them. */
function keyOf({ options }: Redis): string {
  return `${options.host}:${options.port}`
}

/** An idle connection does not keep a script alive; pending calls do, by a timer of the batcher. */
export function unref({ stream }: Redis): void {
  stream?.unref?.()
}
