import { useEffect, useState } from 'preact/hooks'
import { usePage } from '../../page/page-context.js'
import { ScrollingTable } from '../../page/scrolling-table.js'
import { formatCount } from '../../words/format.js'
import { BreakableName } from '../breakable-name.js'
import { algorithmOf } from '../service/algorithm.js'
import { poll } from '../service/poll.js'
import { useSession, WithSession } from '../session.js'
import type { ActiveConfig, From, Policy, Reload, Rule } from './active-config.js'
import { denialTexts, limitText } from './limit-text.js'

const POLL_MS = 2000

export function Policies() {
  return (
    <WithSession>
      <PoliciesView />
    </WithSession>
  )
}

function PoliciesView() {
  const words = usePage().words.dashboard
  const session = useSession()
  const [config, setConfig] = useState<ActiveConfig>()
  const [problem, setProblem] = useState<string>()
  useEffect(() => {
    const load = async (signal: AbortSignal) => {
      const result = await session.request<ActiveConfig>('api/v1/admin/policies', { signal })
      if (signal.aborted) return
      if (result.kind === 'ok') setConfig(result.body)
      setProblem(
        result.kind === 'ok' ? undefined : result.kind === 'error' ? result.message : words.gate.unreachable,
      )
    }
    return poll(load, POLL_MS)
  }, [session, words])
  return (
    <div class="dashboard">
      <h1>{words.policies.title}</h1>
      <p class="lead">{words.policies.lead}</p>
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {config === undefined ? (
        <p class="note">{words.gate.loading}</p>
      ) : (
        <>
          <LastReload reload={config.lastReload} />
          <PolicyCard config={config} />
          <RuleCard rules={config.rules} />
          <RouteCard routes={config.routes} />
        </>
      )}
    </div>
  )
}

function LastReload({ reload }: { reload: Reload | null }) {
  const words = usePage().words.dashboard.policies
  const agoMs = reload === null ? 0 : Math.max(0, Math.round((Date.now() - reload.timeMs) / 1000) * 1000)
  const text =
    reload === null
      ? words.neverReloaded
      : reload.isActive
        ? words.reloadOk(agoMs)
        : words.reloadFailed(agoMs)
  return (
    <section class="card" aria-label={words.reload}>
      <h2>{words.reload}</h2>
      <p class={reload?.isActive === false ? 'problem' : 'note'} data-fact="reload">
        {text}
      </p>
      {reload !== null && reload.errors.length > 0 && (
        <pre class="config-errors">{reload.errors.join('\n')}</pre>
      )}
      {reload !== null && reload.needRestart.length > 0 && (
        <p class="note">{words.needRestart(reload.needRestart.join(', '))}</p>
      )}
    </section>
  )
}

function PolicyCard({ config }: { config: ActiveConfig }) {
  const { words: all } = usePage()
  const words = all.dashboard.policies
  const modes = all.dashboard.live.modes
  return (
    <section class="card">
      <h2>{words.policies}</h2>
      <ScrollingTable label={words.policies}>
        <table class="policies">
          <thead>
            <tr>
              {[words.name, words.limit, words.algorithm, words.onFailure, words.source].map((title) => (
                <th key={title} scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {builtInLast(config.policies).map((policy) => (
              <tr key={policy.name}>
                <th scope="row">
                  <BreakableName name={policy.name} />
                  {policy.name === config.default && <span class="tag">{words.isDefault}</span>}
                  {policy.keys === 'secret' && <span class="tag">{words.secret}</span>}
                </th>
                <td>
                  {limitText(policy, words)}
                  {denialTexts(policy, words).map((text) => (
                    <span key={text} class="tag">
                      {text}
                    </span>
                  ))}
                </td>
                <td>
                  <span class="with-swatch">
                    <i class={`swatch ${algorithmOf(policy.algorithm)}`} aria-hidden="true" />
                    {all.algorithms[algorithmOf(policy.algorithm)]}
                  </span>
                </td>
                <td>{modes[policy.onStoreFailure]}</td>
                <td>
                  <Origin from={policy.from} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollingTable>
    </section>
  )
}

/** Most built-in policies are never used. */
function builtInLast(policies: readonly Policy[]): Policy[] {
  const isBuiltIn = ({ from }: Policy) => from.kind === 'built-in'
  return [...policies.filter((policy) => !isBuiltIn(policy)), ...policies.filter(isBuiltIn)]
}

function RuleCard({ rules }: { rules: readonly Rule[] }) {
  const words = usePage().words.dashboard.policies
  return (
    <section class="card">
      <h2>{words.rules}</h2>
      {rules.length === 0 ? (
        <p class="note">{words.noRules}</p>
      ) : (
        <ScrollingTable label={words.rules}>
          <table>
            <thead>
              <tr>
                {[words.name, words.match, words.key, words.policy, words.cost, words.source].map((title) => (
                  <th key={title} scope="col">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rules.map((rule) => (
                <tr key={rule.name}>
                  <th scope="row">
                    <BreakableName name={rule.name} />
                  </th>
                  <td>{matchText(rule) || words.allRequests}</td>
                  <td>
                    <code>{rule.key}</code>
                  </td>
                  <td>{rule.policy}</td>
                  <td>{formatCount(rule.cost)}</td>
                  <td>
                    <Origin from={rule.from} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollingTable>
      )}
    </section>
  )
}

/** Such as `POST /login, /signin, x-plan: free`. */
function matchText({ match = {} }: Rule): string {
  const methods = match.methods?.join(' ') ?? ''
  const paths = match.path?.join(', ') ?? ''
  const headers = Object.entries(match.header ?? {}).map(([name, value]) => `${name}: ${value}`)
  return [`${methods} ${paths}`.trim(), ...headers].filter((text) => text !== '').join(', ')
}

function RouteCard({ routes }: { routes: ActiveConfig['routes'] }) {
  const words = usePage().words.dashboard.policies
  return (
    <section class="card">
      <h2>{words.routes}</h2>
      {routes.length === 0 ? (
        <p class="note">{words.noRoutes}</p>
      ) : (
        <ul class="instances">
          {routes.map((route) => (
            <li key={route.id}>
              <b>{route.id}</b>
              {route.upstreams.length > 0 && (
                <span class="note">{`${words.upstreams} ${route.upstreams.join(', ')}`}</span>
              )}
              {route.limits.map(({ policy, key }) => (
                <span key={`${policy} ${key}`} class="tag">
                  {`${policy}: ${key}`}
                </span>
              ))}
              <Origin from={route.from} />
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function Origin({ from }: { from: From }) {
  const words = usePage().words.dashboard.policies
  const text =
    from.line !== undefined
      ? words.inFile(from.line)
      : from.route !== undefined
        ? words.ofRoute(from.route)
        : words.builtIn
  return <span class="note">{text}</span>
}
