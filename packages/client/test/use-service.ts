import type { Policy } from '@tidegate/core'
import { type ServiceProcess, startServiceProcess } from '@tidegate/fixtures/service-process'
import { afterAll, beforeAll } from 'vitest'

/** Starts a service for the tests of a file. Returns a function that returns it. */
export function useService(yaml: string): () => ServiceProcess {
  let service: ServiceProcess | undefined
  beforeAll(async () => {
    service = await startServiceProcess({ yaml })
  })
  afterAll(() => service?.stop())
  return () => service!
}

/** The policies in the YAML of a service, where the name of a policy is its key. */
export function policiesYaml(policies: readonly Policy[]): string {
  const lines = policies.map((policy) => {
    const { name, ...fields } = JSON.parse(JSON.stringify(policy))
    return `  ${name}: ${JSON.stringify(fields)}`
  })
  return `policies:\n${lines.join('\n')}`
}
