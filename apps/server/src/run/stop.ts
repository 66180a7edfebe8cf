import type { FastifyInstance } from 'fastify'
import { drain } from '../http/drain.js'
import type { Service } from '../service.js'

/** Stops accepting, and answers what is there. */
export async function stopServing({ server, close }: FastifyInstance, service: Service): Promise<void> {
  if (service.isStopping) return
  service.isStopping = true
  service.live.close()
  service.keys.close()
  await Promise.all([drain(server, service.startedWith.limits.stopTimeoutMs), service.gateway?.close()])
  await close()
  await service.instances.close()
  await service.store.close()
}
