import { readFileSync, writeFileSync } from 'node:fs'
import type { Benchmark } from './benchmark.js'
import { tablesOf, verdict } from './report.js'
import { type Run, readRun } from './results.js'
import { asMarkdown } from './table.js'

const PAGE = new URL('../../docs/benchmarks.md', import.meta.url)

/** Writes the figures of each benchmark's last run into the page about them: none is typed by hand. */
export function writeDocs(benchmarks: readonly Benchmark[]): void {
  let page = readFileSync(PAGE, 'utf8')
  for (const benchmark of benchmarks) {
    const run = readRun(benchmark)
    if (run === undefined) {
      console.error(`${benchmark.name}: nothing to write. First: npm run bench ${benchmark.name}`)
      continue
    }
    page = replaceSection(page, benchmark.name, sectionOf(benchmark, run))
    console.log(`${benchmark.name}: the run of ${run.date}${run.quick ? ', a quick one' : ''}`)
  }
  writeFileSync(PAGE, page)
}

/** The page with another text between the two marks of this name. */
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
  const tables = tablesOf(benchmark, run.measurements).map(asMarkdown)
  return [circumstancesOf(run), ...tables, verdict(benchmark.judge(run.measurements))].join('\n\n')
}

function circumstancesOf({ benchmark, quick, date, cpu, cores, platform, node, versions }: Run): string {
  const command = `npm run bench ${benchmark}${quick ? ' -- --quick' : ''}`
  const others = Object.entries(versions).map(([name, version]) => `${name} ${version}`)
  const with_ = [`Node ${node}`, ...others].join(', ')
  return `Printed by \`${command}\` on ${date.slice(0, 10)}: ${cpu}, ${cores} cores, ${platform}; ${with_}.`
}
