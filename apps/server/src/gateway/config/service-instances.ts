import type { Path } from '../../config-file/config-error.js'
import type { ConfigDocument } from '../../config-file/document.js'
import { relaxedName } from '../../spring-file/names.js'

const INSTANCES = ['spring', 'cloud', 'discovery', 'client', 'simple', 'instances']

/** The addresses of a service under `spring.cloud.discovery.client.simple.instances`. Letter case does not matter. */
export function instancesOf(document: ConfigDocument, service: string): { uri: unknown; at: Path }[] {
  const services = document.at(INSTANCES)
  if (typeof services !== 'object' || services === null) return []
  const name = Object.keys(services).find((name) => relaxedName(name) === relaxedName(service))
  const list = name === undefined ? undefined : document.at([...INSTANCES, name])
  if (name === undefined || !Array.isArray(list)) return []
  return list.flatMap((_, i) => {
    const at = [...INSTANCES, name, i, 'uri']
    const uri = document.at(at)
    return uri === undefined ? [] : [{ uri, at }]
  })
}
