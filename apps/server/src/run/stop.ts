import type { FastifyInstance } from 'fastify'
import { drain } from '../http/drain.js'
import type { Service } from '../service.js'

/** Stops accepting connections, and finishes the requests in flight. */
export async function stopServing({ server, close }: FastifyInstance, service: Service): Promise<void> {
  if (service.isStopping) return
  service.isStopping = true
  service.live.close()
  service.keys.close()
  const { stopTimeoutMs } = service.startConfig.limits
  await Promise.all([
    drain(server, stopTimeoutMs),
    service.gateway?.close(),
    service.rls?.close(stopTimeoutMs),
  ])
  await close()
  await service.instanceRegistry.close()
  await service.store.close()
}
