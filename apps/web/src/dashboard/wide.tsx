import type { ComponentChildren } from 'preact'

/** What may be wider than a phone, and is then moved sideways: with the keyboard too. */
export function Wide({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without it, nobody can scroll it by keyboard
    <section class="wide" tabIndex={0} aria-label={label}>
      {children}
    </section>
  )
}
