import type { RedisConnection } from '../connection/adapters.js'
import { lacksScript } from './call-errors.js'
import type { Lane } from './lane.js'
import type { ScriptCall } from './protocol.js'

export const NODE_UNKNOWN = new Error('the node is no longer part of the cluster')
/** After this many attempts the call contains the script itself: another client keeps flushing scripts. */
const MAX_ATTEMPTS = 3

/**
 * Calls the script by its hash, and sends its text if the server lacks it. Each attempt is encoded again, without entries
 * that have been abandoned.
 */
export async function callScript(
  connection: RedisConnection,
  lane: Lane,
  encodeWanted: () => ScriptCall,
): Promise<unknown> {
  try {
    return await transmit(connection, lane, 'evalsha', encodeWanted())
  } catch (error) {
    if (!lacksScript(error)) throw error
  }
  return callWithScript(connection, lane, encodeWanted)
}

function transmit(
  connection: RedisConnection,
  lane: Lane,
  command: 'eval' | 'evalsha',
  { script, args }: ScriptCall,
): Promise<unknown> {
  const all = [command === 'eval' ? script.text : script.sha, ...args]
  if (lane.node === undefined) return connection.send(args[1]!, command, all)
  return connection.sendTo!(lane.node, command, all) ?? Promise.reject(NODE_UNKNOWN)
}

/**
 * When the server lacks the script, the first call sends the whole script, which the server then keeps; the others
 * wait for that call and try again. The script is longer than a thousand checks, so not every call of a full
 * connection should carry it.
 */
async function callWithScript(
  connection: RedisConnection,
  lane: Lane,
  encodeWanted: () => ScriptCall,
): Promise<unknown> {
  let call = encodeWanted()
  for (let attempt = 2; lane.loading?.script === call.script && attempt <= MAX_ATTEMPTS; attempt++) {
    await lane.loading.call.catch(() => {})
    try {
      return await transmit(connection, lane, 'evalsha', encodeWanted())
    } catch (error) {
      if (!lacksScript(error)) throw error
    }
    call = encodeWanted()
  }
  const loading = { script: call.script, call: transmit(connection, lane, 'eval', call) }
  lane.loading = loading
  try {
    return await loading.call
  } finally {
    if (lane.loading === loading) lane.loading = undefined
  }
}
