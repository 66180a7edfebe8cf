import { useEffect, useState } from 'preact/hooks'

export type Theme = 'light' | 'dark'

const KEY = 'tidegate-theme'
const systemIsDark = () => matchMedia('(prefers-color-scheme: dark)')

/** The theme chosen by the user, else that of the system. It is a preference, so it is not part of the address. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const [chosen, setChosen] = useState(readChoice)
  const [system, setSystem] = useState<Theme>(systemIsDark().matches ? 'dark' : 'light')
  useEffect(() => {
    const query = systemIsDark()
    const onChange = () => setSystem(query.matches ? 'dark' : 'light')
    query.addEventListener('change', onChange)
    return () => query.removeEventListener('change', onChange)
  }, [])
  const theme = chosen ?? system
  // Not in an effect: charts read their colours from the style sheet during rendering.
  document.documentElement.dataset.theme = theme
  return [
    theme,
    (next) => {
      writeChoice(next)
      setChosen(next)
    },
  ]
}

function readChoice(): Theme | undefined {
  try {
    const text = localStorage.getItem(KEY)
    return text === 'light' || text === 'dark' ? text : undefined
  } catch {
    return undefined
  }
}

function writeChoice(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme)
  } catch {
    // Storage is disabled: the choice lasts until the page is closed.
  }
}
