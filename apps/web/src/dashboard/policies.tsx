import { useEffect, useState } from 'preact/hooks'
import { formatCount, formatDuration } from '../format.js'
import { usePage } from '../page-context.js'
import type { Words } from '../words/words.js'
import { algorithmOf } from './algorithm.js'
import type { From, InForce, Policy, Reload, Rule } from './in-force.js'
import { keepLooking } from './keep-looking.js'
import { useSession, WithSession } from './session.js'
import { Wide } from './wide.js'

/** A file that was read again shows within so long. */
const LOOK_EVERY_MS = 2000

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
  const [inForce, setInForce] = useState<InForce>()
  const [problem, setProblem] = useState<string>()
  useEffect(() => {
    const look = async (signal: AbortSignal) => {
      const answer = await session.ask<InForce>('api/v1/admin/policies', { signal })
      if (signal.aborted) return
      if (answer.kind === 'ok') setInForce(answer.body)
      setProblem(
        answer.kind === 'ok'
          ? undefined
          : answer.kind === 'refused'
            ? answer.message
            : words.gate.unreachable,
      )
    }
    return keepLooking(look, LOOK_EVERY_MS)
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
      {inForce === undefined ? (
        <p class="note">{words.gate.loading}</p>
      ) : (
        <>
          <LastReload reload={inForce.lastReload} />
          <PolicyCard inForce={inForce} />
          <RuleCard rules={inForce.rules} />
          <RouteCard routes={inForce.routes} />
        </>
      )}
    </div>
  )
}

function LastReload({ reload }: { reload: Reload | null }) {
  const words = usePage().words.dashboard.policies
  const ago =
    reload === null ? '' : formatDuration(Math.max(0, Math.round((Date.now() - reload.timeMs) / 1000) * 1000))
  const text =
    reload === null ? words.neverReloaded : reload.isInForce ? words.reloadOk(ago) : words.reloadFailed(ago)
  return (
    <section class="card" aria-label={words.reload}>
      <h2>{words.reload}</h2>
      <p class={reload?.isInForce === false ? 'problem' : 'note'} data-fact="reload">
        {text}
      </p>
      {reload !== null && reload.mistakes.length > 0 && (
        <pre class="mistakes">{reload.mistakes.join('\n')}</pre>
      )}
      {reload !== null && reload.needRestart.length > 0 && (
        <p class="note">{words.needRestart(reload.needRestart.join(', '))}</p>
      )}
    </section>
  )
}

function PolicyCard({ inForce }: { inForce: InForce }) {
  const { words: all } = usePage()
  const words = all.dashboard.policies
  const modes = all.dashboard.live.modes
  return (
    <section class="card">
      <h2>{words.policies}</h2>
      <Wide label={words.policies}>
        <table>
          <thead>
            <tr>
              {[words.name, words.algorithm, words.numbers, words.onFailure, words.from].map((title) => (
                <th key={title} scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {inForce.policies.map((policy) => (
              <tr key={policy.name}>
                <th scope="row">
                  {policy.name}
                  {policy.name === inForce.default && <span class="tag">{words.isDefault}</span>}
                  {policy.keys === 'secret' && <span class="tag">{words.secret}</span>}
                </th>
                <td>
                  <span class="with-swatch">
                    <i class={`swatch ${algorithmOf(policy.algorithm)}`} aria-hidden="true" />
                    {all.algorithms[algorithmOf(policy.algorithm)]}
                  </span>
                </td>
                <td>{numbersOf(policy, words)}</td>
                <td>{modes[policy.onStoreFailure]}</td>
                <td>
                  <Origin from={policy.from} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </section>
  )
}

function numbersOf(policy: Policy, words: Words['dashboard']['policies']): string {
  const limit = formatCount(policy.limit)
  if (policy.window !== undefined) return words.perWindow(limit, formatDuration(policy.window))
  if (policy.refillRate !== undefined) return words.refill(limit, words.rate(policy.refillRate))
  return words.leak(limit, words.rate(policy.leakRate ?? 0))
}

function RuleCard({ rules }: { rules: readonly Rule[] }) {
  const words = usePage().words.dashboard.policies
  return (
    <section class="card">
      <h2>{words.rules}</h2>
      {rules.length === 0 ? (
        <p class="note">{words.noRules}</p>
      ) : (
        <Wide label={words.rules}>
          <table>
            <thead>
              <tr>
                {[words.name, words.match, words.keyOf, words.by, words.cost, words.from].map((title) => (
                  <th key={title} scope="col">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rules.map((rule) => (
                <tr key={rule.name}>
                  <th scope="row">{rule.name}</th>
                  <td>{matchText(rule) || words.anything}</td>
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
        </Wide>
      )}
    </section>
  )
}

/** `POST /login, /signin, x-plan: free` */
function matchText({ match = {} }: Rule): string {
  const methods = match.methods?.join(' ') ?? ''
  const paths = match.path?.join(', ') ?? ''
  const headers = Object.entries(match.header ?? {}).map(([name, value]) => `${name}: ${value}`)
  return [`${methods} ${paths}`.trim(), ...headers].filter((text) => text !== '').join(', ')
}

function RouteCard({ routes }: { routes: InForce['routes'] }) {
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
