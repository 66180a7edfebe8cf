import { readFileSync, writeFileSync } from 'node:fs'
import type { Benchmark } from './benchmark.js'
import { repoFile } from './paths.js'
import { type BenchPromise, tableOf, verdictOf } from './promise.js'
import { lastOutcomes, type Run, readRun } from './results.js'
import { scenarioTables } from './scenario-tables.js'
import { asMarkdown, rowsAsMarkdown } from './table.js'

const PAGE = repoFile('docs/benchmarks.md')

/** Writes the figures of each benchmark's last run, and the table of promises, into docs/benchmarks.md. */
export function writeDocs(benchmarks: readonly Benchmark[], promises: readonly BenchPromise[]): void {
  let page = readFileSync(PAGE, 'utf8')
  for (const benchmark of benchmarks) {
    const run = readRun(benchmark)
    if (run === undefined) {
      console.error(`${benchmark.name}: no saved run. First: npm run bench ${benchmark.name}`)
      continue
    }
    page = replaceSection(page, benchmark.name, sectionOf(benchmark, run))
    console.log(`${benchmark.name}: run of ${run.date}${run.quick ? ', a quick one' : ''}`)
  }
  const outcomes = lastOutcomes(benchmarks, promises)
  const section = `${rowsAsMarkdown(tableOf(outcomes))}\n\n${verdictOf(outcomes)}`
  writeFileSync(PAGE, replaceSection(page, 'promises', section))
}

/** Replaces the text between the two marks of this name. */
export function replaceSection(page: string, name: string, text: string): string {
  const [begin, end] = [`<!-- figures: ${name} -->\n`, `<!-- end of figures: ${name} -->`]
  const parts = page.split(begin)
  const rest = parts[1]?.split(end)
  if (parts.length !== 2 || rest?.length !== 2) {
    throw new Error(`The page must have "${begin.trim()}" and "${end}" once each, in this order.`)
  }
  return `${parts[0]}${begin}\n${text}\n\n${end}${rest[1]}`
}

function sectionOf(benchmark: Benchmark, run: Run): string {
  const tables = scenarioTables(benchmark, run.measurements).map(asMarkdown)
  return [environmentLine(run), ...tables].join('\n\n')
}

function environmentLine({ benchmark, quick, date, cpu, cores, platform, node, versions }: Run): string {
  const command = `npm run bench ${benchmark}${quick ? ' -- --quick' : ''}`
  const packages = Object.entries(versions).map(([name, version]) => `${name} ${version}`)
  const all = [`Node ${node}`, ...packages].join(', ')
  return `Printed by \`${command}\` on ${date.slice(0, 10)}: ${cpu}, ${cores} cores, ${platform}; ${all}.`
}
