import type { ComponentChildren } from 'preact'

/** Scrolls its children sideways if they are too wide, by keyboard too. */
export function ScrollingTable({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: makes the region scrollable by keyboard
    <section class="wide" tabIndex={0} aria-label={label}>
      {children}
    </section>
  )
}
