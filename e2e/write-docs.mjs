// Writes what the tests in this folder saw when they last ran into the table of docs/reliability.md: no figure of it is
// typed by hand. First: npm run test:faults.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'

const PAGE = new URL('../docs/reliability.md', import.meta.url)
const [BEGIN, END] = ['<!-- faults -->\n', '<!-- end of faults -->']

const names = readdirSync(new URL('.', import.meta.url))
  .filter((name) => name.endsWith('.e2e.test.ts'))
  .map((name) => name.replace('.e2e.test.ts', ''))
const runs = names.map(resultOf).sort((a, b) => a.place - b.place)

const [before = '', rest] = readFileSync(PAGE, 'utf8').split(BEGIN)
const after = rest?.split(END)[1]
if (after === undefined) stop(`docs/reliability.md must have ${BEGIN.trim()} and ${END}, in this order.`)
const { date, node } = runs[0] ?? stop('There is no test in e2e.')
const table = [
  `Printed by \`npm run test:faults\` on ${date.slice(0, 10)}: ${cpus()[0]?.model.trim()}, ${cpus().length} cores, Node ${node}.`,
  '',
  '| fault, under load | must show | seen |',
  '|---|---|---|',
  ...runs.map(({ fault, promise, seen }) => `| ${fault} | ${promise} | ${seen} |`),
]
writeFileSync(PAGE, `${before}${BEGIN}\n${table.join('\n')}\n\n${END}${after}`)
console.log(`${runs.length} rows written into docs/reliability.md`)

/**
 * @param {string} name
 * @returns {{ date: string, node: string, place: number, fault: string, promise: string, seen: string }}
 */
function resultOf(name) {
  try {
    return JSON.parse(readFileSync(new URL(`results/${name}.json`, import.meta.url), 'utf8'))
  } catch {
    return stop(`${name} has not been run. First: npm run test:faults`)
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
