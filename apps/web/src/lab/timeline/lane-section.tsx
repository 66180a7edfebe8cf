import type { Policy } from '@tidegate/core'
import type { ComponentChildren } from 'preact'

/** One row of a timeline: facts, the chart as children, and the state at the current time. */
export function LaneSection({
  id,
  title,
  swatch,
  heading: Heading,
  facts,
  state,
  children,
}: {
  id: string
  title: string
  /** The algorithm whose colour the chart has. */
  swatch?: Policy['algorithm']
  heading: 'h2' | 'h3'
  facts: ComponentChildren
  state: ComponentChildren
  children: ComponentChildren
}) {
  return (
    <section class="lane" data-lane={id} aria-label={title}>
      <div class="lane-facts">
        <Heading class="lane-name">
          {swatch !== undefined && <i class={`swatch ${swatch}`} aria-hidden="true" />}
          {title}
        </Heading>
        {facts}
      </div>
      {children}
      <div class="lane-state">{state}</div>
    </section>
  )
}
