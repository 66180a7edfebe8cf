import { useRef, useState } from 'preact/hooks'
import { usePage } from './page-context.js'

/** Code with a copy button beside the title, so that it never covers the code. */
export function CodeBlock({
  title,
  note,
  text,
  level: Heading = 'h3',
}: {
  title: string
  note: string
  text: string
  level?: 'h2' | 'h3'
}) {
  const { copy: words } = usePage().words
  const [isCopied, setCopied] = useState(false)
  const code = useRef<HTMLElement>(null)
  const copy = async () => {
    if (!(await copyText(text, code.current))) return
    setCopied(true)
    setTimeout(() => setCopied(false), 2000)
  }
  return (
    <section class="code-block">
      <div class="code-head">
        <Heading>{title}</Heading>
        <button type="button" onClick={copy} aria-label={isCopied ? words.copied : words.label(title)}>
          {isCopied ? words.copied : words.copy}
        </button>
      </div>
      <p class="note">{note}</p>
      <pre>
        <code ref={code} data-code={title}>
          {text}
        </code>
      </pre>
    </section>
  )
}

/**
 * Copies `text` and returns whether that worked. Pages on plain HTTP have no clipboard API: there the code is selected
 * and copied with the older command.
 */
async function copyText(text: string, element: HTMLElement | null): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    if (element !== null) getSelection()?.selectAllChildren(element)
    return document.execCommand('copy')
  }
}
