import type { RedisConnection } from '../connection/adapters.js'
import { lacksScript } from './call-errors.js'
import type { Lane } from './lane.js'
import type { ScriptCall } from './protocol.js'

export const NODE_UNKNOWN = new Error('the node is no longer part of the cluster')
/** After this many attempts, send the text of the script, because another client keeps flushing scripts. */
const MAX_ATTEMPTS = 3

/**
 * Calls the script by its hash, and sends its text if the server does not have it. Each attempt is encoded again, without
 * abandoned entries.
 */
export async function callScript(
  connection: RedisConnection,
  lane: Lane,
  encodeCall: () => ScriptCall,
): Promise<unknown> {
  try {
    return await transmit(connection, lane, 'evalsha', encodeCall())
  } catch (error) {
    if (!lacksScript(error)) throw error
  }
  return callWithScript(connection, lane, encodeCall)
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
 * If the server does not have the script, the first call sends its text, which the server then keeps. Other calls wait for
 * that call and try again, because the script is longer than a thousand checks.
 */
async function callWithScript(
  connection: RedisConnection,
  lane: Lane,
  encodeCall: () => ScriptCall,
): Promise<unknown> {
  let call = encodeCall()
  for (let attempt = 2; lane.loading?.script === call.script && attempt <= MAX_ATTEMPTS; attempt++) {
    await lane.loading.call.catch(() => {})
    try {
      return await transmit(connection, lane, 'evalsha', encodeCall())
    } catch (error) {
      if (!lacksScript(error)) throw error
    }
    call = encodeCall()
  }
  const loading = { script: call.script, call: transmit(connection, lane, 'eval', call) }
  lane.loading = loading
  try {
    return await loading.call
  } finally {
    if (lane.loading === loading) lane.loading = undefined
  }
}
