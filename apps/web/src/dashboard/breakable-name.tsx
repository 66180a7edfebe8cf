import { Fragment } from 'preact'

/** A name that can wrap after its separators, because a long one does not fit into a line of a phone. */
export function BreakableName({ name }: { name: string }) {
  const [first, ...rest] = name.split(/(?<=[_.-])/)
  return (
    <>
      {first}
      {rest.map((part, i) => (
        <Fragment key={i}>
          <wbr />
          {part}
        </Fragment>
      ))}
    </>
  )
}
