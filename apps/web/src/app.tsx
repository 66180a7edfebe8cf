import { useEffect, useMemo, useState } from 'preact/hooks'
import { formatPlace, type Place, parsePlace } from './address.js'
import { Page, type PageContext } from './page-context.js'
import { type Theme, useTheme } from './theme.js'
import { VIEWS } from './views.js'
import { type Language, languageOf, WORDS } from './words/words.js'

export function App() {
  const [theme, setTheme] = useTheme()
  const [place, setPlace] = useState(() => parsePlace(location.hash))

  useEffect(() => {
    const onMove = () => setPlace(parsePlace(location.hash))
    addEventListener('popstate', onMove)
    addEventListener('hashchange', onMove)
    return () => {
      removeEventListener('popstate', onMove)
      removeEventListener('hashchange', onMove)
    }
  }, [])

  const language = languageOf(place.params.get('lang'), navigator.languages)
  const page = useMemo((): PageContext => {
    const lang = place.params.get('lang')
    const inThisLanguage = (params: ReadonlyMap<string, string>) =>
      lang === undefined ? params : new Map([...params, ['lang', lang]])
    return {
      place,
      language,
      words: WORDS[language],
      theme,
      go(next, how = 'push') {
        const address = formatPlace(next)
        if (how === 'replace') history.replaceState(null, '', address)
        else if (address !== location.hash) history.pushState(null, '', address)
        setPlace(next)
      },
      linkTo: (view, params = new Map()) => formatPlace({ view, params: inThisLanguage(params) }),
    }
  }, [place, language, theme])

  const view = VIEWS.find(({ id }) => id === place.view) ?? VIEWS[0]
  const title = view?.label(page.words) ?? ''
  useEffect(() => {
    document.documentElement.lang = language
    document.title = `${title} · Tidegate`
  }, [language, title])

  if (view === undefined) return null
  return (
    <Page.Provider value={page}>
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        {page.words.shell.skip}
      </button>
      <Header page={page} current={view.id} setTheme={setTheme} />
      <main id="main" tabIndex={-1}>
        <view.component key={view.id} />
      </main>
      <footer>{view.footer?.(page.words) ?? page.words.shell.footer}</footer>
    </Page.Provider>
  )
}

function Header({
  page,
  current,
  setTheme,
}: {
  page: PageContext
  current: string
  setTheme: (theme: Theme) => void
}) {
  const { words, theme } = page
  return (
    <header class="top">
      <a class="brand" href={page.linkTo(VIEWS[0]?.id ?? '')}>
        <Waves />
        Tidegate
      </a>
      <nav aria-label={words.shell.views}>
        {VIEWS.map(({ id, label }) => (
          <a key={id} href={page.linkTo(id)} aria-current={id === current ? 'page' : undefined}>
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
