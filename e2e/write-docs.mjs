// Writes the results of the last run of the tests in this folder into the table of docs/operators/reliability.md.
// Run `npm run test:faults` first.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'

const PAGE = new URL('../docs/operators/reliability.md', import.meta.url)
const [BEGIN, END] = ['<!-- faults -->\n', '<!-- end of faults -->']

const tests = namesIn('.', '.e2e.test.ts')
// A test can have a second row, such as `distant-redis-leased` of `distant-redis`.
const more = namesIn('results', '.json').filter((name) => tests.some((test) => name.startsWith(`${test}-`)))
const runs = [...tests, ...more].map(resultOf).sort((a, b) => a.place - b.place)

const [before = '', rest] = readFileSync(PAGE, 'utf8').split(BEGIN)
const after = rest?.split(END)[1]
if (after === undefined) stop(`docs/operators/reliability.md must contain ${BEGIN.trim()} and then ${END}.`)
const { date, node } = runs[0] ?? stop('e2e contains no test.')
const table = [
  `Written by \`npm run docs:faults\` from the run of ${date.slice(0, 10)}: ${cpus()[0]?.model.trim()}, ${cpus().length} cores, Node ${node}.`,
  '',
  '| Fault, under load | Requirement | Result |',
  '|---|---|---|',
  ...runs.map(({ fault, promise, seen }) => `| ${fault} | ${promise} | ${seen} |`),
]
writeFileSync(PAGE, `${before}${BEGIN}\n${table.join('\n')}\n\n${END}${after}`)
console.log(`${runs.length} rows written to docs/operators/reliability.md`)

/**
 * The names of the files with this ending, without the ending.
 * @param {string} folder
 * @param {string} ending
 */
function namesIn(folder, ending) {
  return readdirSync(new URL(folder, import.meta.url))
    .filter((name) => name.endsWith(ending))
    .map((name) => name.slice(0, -ending.length))
}

/**
 * @param {string} name
 * @returns {{ date: string, node: string, place: number, fault: string, promise: string, seen: string }}
 */
function resultOf(name) {
  try {
    return JSON.parse(readFileSync(new URL(`results/${name}.json`, import.meta.url), 'utf8'))
  } catch {
    return stop(`e2e/results/${name}.json is missing or not JSON. Run npm run test:faults first.`)
  }
}

/**
 * @param {string} why
 * @returns {never}
 */
function stop(why) {
  console.error(why)
  process.exit(1)
}
