import { CodeBlock } from '../../page/code-block.js'
import { usePage } from '../../page/page-context.js'
import { serviceUrl } from '../../page/service-address.js'
import { memoryFor } from '../../simulation/memory.js'
import { formatBytes, formatCount } from '../../words/format.js'
import type { Choice } from './choice.js'
import { curlOf, typescriptOf, yamlOf } from './snippets.js'

/** The policy as code, and the memory that it needs. */
export function Snippets({ choice, keys }: { choice: Choice; keys: number }) {
  const { words } = usePage()
  return (
    <div class="snippets">
      <CodeBlock title="YAML" note={words.choose.yamlNote} text={yamlOf(choice)} />
      <CodeBlock title="TypeScript" note={words.choose.typescriptNote} text={typescriptOf(choice)} />
      <CodeBlock title="curl" note={words.choose.curlNotes[choice.use]} text={curlOf(choice, serviceUrl())} />
      <Memory choice={choice} keys={keys} />
    </div>
  )
}

/** An estimate above this gets a warning. */
const LARGE_BYTES = 10e9

/** The memory of slots has not been measured. */
function Memory({ choice: { algorithm, limit, countDenied }, keys }: { choice: Choice; keys: number }) {
  const { words } = usePage()
  if (algorithm === 'concurrency') return null
  // A log that counts denied requests keeps up to twice its limit.
  const { processBytes, redisBytes } = memoryFor(algorithm, countDenied ? 2 * limit : limit, keys)
  const isLarge = Math.max(processBytes, redisBytes) > LARGE_BYTES
  const counterBytes = memoryFor('sliding-window-counter', limit, keys).redisBytes
  return (
    <section>
      <h3>{words.choose.memory}</h3>
      <dl>
        <dt>{words.choose.inProcess}</dt>
        <dd data-fact="process">{formatBytes(processBytes)}</dd>
        <dt>{words.choose.inRedis}</dt>
        <dd data-fact="redis">{formatBytes(redisBytes)}</dd>
      </dl>
      {isLarge && (
        <p class="problem" data-fact="memory-warning">
          {words.choose.memoryTooLarge}{' '}
          {algorithm === 'sliding-window-log' && words.choose.counterInstead(formatBytes(counterBytes))}
        </p>
      )}
      <p class="note">{words.choose.memoryNote(formatCount(keys))}</p>
    </section>
  )
}
