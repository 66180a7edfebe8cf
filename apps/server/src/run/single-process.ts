import { readText } from '../config/load.js'
import { watchFromStart } from '../config/watch.js'
import { createLog } from '../log/log.js'
import { announce } from './announce.js'
import { reload } from './reload.js'
import { serve } from './serve.js'
import { handleSignals } from './signals.js'
import type { RunningServer, StartOptions } from './start-options.js'

/** Serves in this process, without workers. */
export async function startSingleProcess({ config, load, file }: StartOptions): Promise<RunningServer> {
  const log = createLog(config.log.level)
  const watch = file === undefined ? undefined : watchFromStart(file)
  const { url, service, close } = await serve({ config, log }).catch((error) => {
    watch?.close()
    throw error
  })
  const reloadFile = () => reload(service, { text: readText(file), load, file, log })
  watch?.subscribe(reloadFile)
  const ignoreSignals = handleSignals({ stop: close, reload: reloadFile }, log)
  announce(url, config, service.generatedAdminToken, 1, log)
  return {
    url,
    async close() {
      ignoreSignals()
      watch?.close()
      await close()
    },
  }
}
