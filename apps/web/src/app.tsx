import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { formatPlace, type Place, parsePlace } from './page/address.js'
import { Page, type PageContext } from './page/page-context.js'
import { hasService } from './page/service-address.js'
import { type Theme, useTheme } from './page/theme.js'
import type { View } from './views.js'
import { type Language, languageOf } from './words/language.js'
import { WORDS } from './words/words.js'

export function App({ views }: { views: readonly View[] }) {
  const [theme, setTheme] = useTheme()
  const [place, setPlace] = useState(() => parsePlace(location.hash))
  const [isAlarm, setAlarm] = useState(false)
  /** The last edit, and the address that it led to. */
  const lastEdit = useRef<{ readonly edit: string; readonly address: string }>(undefined)

  useEffect(() => {
    const onNavigate = () => setPlace(parsePlace(location.hash))
    addEventListener('popstate', onNavigate)
    addEventListener('hashchange', onNavigate)
    return () => {
      removeEventListener('popstate', onNavigate)
      removeEventListener('hashchange', onNavigate)
    }
  }, [])

  const language = languageOf(place.params.get('lang'), navigator.languages)
  const page = useMemo((): PageContext => {
    const lang = place.params.get('lang')
    const withLanguage = (params: ReadonlyMap<string, string>) =>
      lang === undefined ? params : new Map([...params, ['lang', lang]])
    return {
      place,
      language,
      words: WORDS[language],
      theme,
      go(next, how = 'push') {
        const address = formatPlace(next)
        const { current } = lastEdit
        const isNextEdit =
          typeof how === 'object' && how.edit === current?.edit && location.hash === current.address
        if (typeof how === 'object') lastEdit.current = { edit: how.edit, address }
        if (how === 'replace' || isNextEdit) history.replaceState(null, '', address)
        else if (address !== location.hash) history.pushState(null, '', address)
        setPlace(next)
      },
      setAlarm,
      linkTo: (view, params = new Map()) => formatPlace({ view, params: withLanguage(params) }),
    }
  }, [place, language, theme])

  const view = views.find(({ id }) => id === place.view) ?? views[0]
  const title = view?.label(page.words) ?? ''
  useEffect(() => {
    document.documentElement.lang = language
    document.title = `${isAlarm ? '⚠ ' : ''}${title} · Tidegate`
  }, [language, title, isAlarm])

  if (view === undefined) return null
  return (
    <Page.Provider value={page}>
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        {page.words.shell.skip}
      </button>
      <Header page={page} views={views} current={view.id} setTheme={setTheme} />
      <main id="main" tabIndex={-1}>
        <view.component key={view.id} />
      </main>
      <footer>
        <p>{view.footer?.(page.words) ?? page.words.shell.footer}</p>
        <Links page={page} />
      </footer>
    </Page.Provider>
  )
}

function Header({
  page,
  views,
  current,
  setTheme,
}: {
  page: PageContext
  views: readonly View[]
  current: string
  setTheme: (theme: Theme) => void
}) {
  const { words, theme } = page
  return (
    <header class="top">
      <a class="brand" href={page.linkTo(views[0]?.id ?? '')}>
        <Waves />
        Tidegate
      </a>
      <nav aria-label={words.shell.views}>
        {views.map(({ id, label, startsGroup }) => (
          <a
            key={id}
            class={startsGroup ? 'group' : undefined}
            href={page.linkTo(id)}
            aria-current={id === current ? 'page' : undefined}
          >
            {label(words)}
          </a>
        ))}
      </nav>
      <div class="switches">
        <LanguageSwitch page={page} />
        <button
          type="button"
          class="quiet"
          aria-label={theme === 'dark' ? words.shell.toLight : words.shell.toDark}
          title={theme === 'dark' ? words.shell.toLight : words.shell.toDark}
          onClick={() => setTheme(theme === 'dark' ? 'light' : 'dark')}
        >
          <span aria-hidden="true">{theme === 'dark' ? '☀' : '☾'}</span>
        </button>
      </div>
    </header>
  )
}

/** Links are relative, so that they work below a path of a reverse proxy. */
function Links({ page }: { page: PageContext }) {
  const { shell } = page.words
  return (
    <nav class="links" aria-label={shell.links}>
      {hasService && <a href="./docs">{shell.apiReference}</a>}
      <span>
        {shell.install} <code>npm install @tidegate/core</code>
      </span>
    </nav>
  )
}

function LanguageSwitch({ page }: { page: PageContext }) {
  const other: Language = page.language === 'en' ? 'ko' : 'en'
  const next: Place = { ...page.place, params: new Map([...page.place.params, ['lang', other]]) }
  return (
    <button type="button" class="quiet" lang={other} onClick={() => page.go(next)}>
      {WORDS[other].name}
    </button>
  )
}

function Waves() {
  return (
    <svg class="mark" viewBox="0 0 24 24" aria-hidden="true">
      <path d="M2 16c3.3 0 3.3-3 6.7-3s3.3 3 6.6 3 3.3-3 6.7-3" />
      <path d="M6 3v6M12 3v7M18 3v6" />
    </svg>
  )
}
