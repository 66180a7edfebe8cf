import {
  type ServiceProcess,
  type ServiceProcessOptions,
  startServiceProcess,
} from '@tidegate/fixtures/service-process'

export type { ServiceProcess }

/** `tidegate start` with this file, on a free port. */
export function startService(
  yaml: string,
  options: Omit<ServiceProcessOptions, 'yaml'> = {},
): Promise<ServiceProcess> {
  return startServiceProcess({ ...options, yaml })
}

/** The levels of the log lines about the store, in order: `error` for a lost store, `info` for a recovered one. */
export function storeLevels(service: ServiceProcess): string[] {
  return service
    .log()
    .filter(({ msg }) => /^(the )?store /i.test(msg))
    .map(({ level }) => level)
}
