import { readText } from '../config/load.js'
import { watchEarly } from '../config/watch.js'
import { createLog } from '../log/log.js'
import { announce } from './announce.js'
import { reload } from './reload.js'
import { serve } from './serve.js'
import { obeySignals } from './signals.js'
import type { RunningServer, StartOptions } from './start-options.js'

/** Serves with this process alone. */
export async function startAlone({ config, load, file }: StartOptions): Promise<RunningServer> {
  const log = createLog(config.log.level)
  const watch = file === undefined ? undefined : watchEarly(file)
  const { url, service, close } = await serve({ config, log }).catch((error) => {
    watch?.close()
    throw error
  })
  const again = () => reload(service, { text: readText(file), load, file, log })
  watch?.tell(again)
  const ignoreSignals = obeySignals({ stop: close, reload: again }, log)
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
