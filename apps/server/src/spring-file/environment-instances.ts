import { isMap, Pair, Scalar, YAMLMap, YAMLSeq } from 'yaml'
import type { Environment } from '../config-file/variables.js'
import { pairIn } from './expand.js'

const INSTANCES = ['spring', 'cloud', 'discovery', 'client', 'simple', 'instances']
const VARIABLE = /^SPRING_CLOUD_DISCOVERY_CLIENT_SIMPLE_INSTANCES_(\w+)_(\d{1,3})_URI$/

/** Adds service instances from variables such as SPRING_CLOUD_DISCOVERY_CLIENT_SIMPLE_INSTANCES_ORDERS_0_URI. */
export function addInstances(root: YAMLMap, env: Environment): void {
  for (const [variable, value] of Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1))) {
    const [, service, index] = VARIABLE.exec(variable) ?? []
    if (service === undefined || !value) continue
    const instances = INSTANCES.reduce((map, name) => childOf(map, name, () => new YAMLMap()), root)
    const list = childOf(instances, service.toLowerCase(), () => new YAMLSeq())
    const instance = new YAMLMap()
    instance.items.push(new Pair(new Scalar('uri'), new Scalar(`\${${variable}}`)))
    list.items[Number(index)] = instance
  }
}

function childOf<Child extends YAMLMap | YAMLSeq>(map: YAMLMap, name: string, create: () => Child): Child {
  const before = pairIn(map, name)?.value
  const child = create()
  if (before !== undefined && isMap(before) === isMap(child)) return before as Child
  map.items.push(new Pair(new Scalar(name), child))
  return child
}
