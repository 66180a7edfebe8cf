import parse from 'parse-prometheus-text-format'

/** The metrics of a service, read by an independent parser. */
export interface Exposition {
  readonly text: string
  /** Types by name. */
  readonly types: ReadonlyMap<string, string>
  readonly samples: readonly Sample[]
}

interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export async function expositionAt(url: string, path = '/metrics'): Promise<Exposition> {
  const text = await (await fetch(url + path)).text()
  const types = new Map(parse(text).map(({ name, type }) => [name, type]))
  // The parser merges all histograms of one name, whatever their labels; without types it reads line by line.
  const lines = parse(text.replace(/^#.*\n/gm, ''))
  const samples = lines.flatMap(({ name, metrics }) =>
    metrics.map(({ labels = {}, value }) => ({ name, labels, value: Number(value) })),
  )
  return { text, types, samples }
}

export function valueIn(exposition: Exposition, name: string, labels: Record<string, string> = {}): number {
  const found = exposition.samples.filter(
    (sample) =>
      sample.name === name &&
      Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  )
  if (found.length !== 1)
    throw new Error(`${found.length} samples match ${name} ${JSON.stringify(labels)}, expected 1.`)
  return found[0]!.value
}

/** Each name and its labels, without the values. */
export function seriesIn({ samples }: Exposition): string[] {
  return samples.map(({ name, labels }) => `${name}${JSON.stringify(labels)}`).sort()
}
