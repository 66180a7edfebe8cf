import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import type { AskOptions } from './cli/ask.js'
import type { StartFlags } from './cli/start.js'
import { EXIT, type Terminal } from './cli/terminal.js'
import { version } from './version.js'

/** Does what the arguments say; answers with the exit code. Each command brings in what only it needs. */
export async function runCli(args: readonly string[], terminal: Terminal): Promise<number> {
  let code: number = EXIT.ok
  const program = programFor(terminal, (result) => {
    code = result
  })
  try {
    await program.parseAsync([...args], { from: 'user' })
    return code
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage
  }
}

function programFor(terminal: Terminal, finish: (code: number) => void): Command {
  const program = new Command('tidegate')
  settle(program, terminal)
  program
    .description('A rate limiter as a service: start it, and ask it from a shell.')
    .version(version(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [command]', 'show the help of a command')
    .addHelpText('after', EXAMPLES.tidegate)

  const add = (name: keyof typeof EXAMPLES, operands: string, description: string) =>
    settle(program.command(`${name} ${operands}`.trim()), terminal)
      .description(description)
      .helpOption('-h, --help', 'show this help')
      .addHelpText('after', EXAMPLES[name])

  add('start', '', 'serve the API, until it is stopped')
    .option('-c, --config <file>', 'configuration file (default: none is needed)')
    .option('--host <address>', 'address to listen on (default: 127.0.0.1)')
    .option('--port <number>', 'port to listen on (default: 8080)')
    .option(
      '--store <url>',
      'memory, redis://, rediss://, redis+sentinel:// or redis+cluster:// (default: memory)',
    )
    .option('--workers <number>', 'processes that serve; more than 1 needs Redis', wholeFromOne, 1)
    .action(async (flags: StartFlags) => {
      const { start } = await import('./cli/start.js')
      finish(await start(flags, terminal))
    })

  add('check', '<key>', 'ask whether a request may pass, and count it')
    .option('--permits <number>', 'how many units it takes (default: 1)', wholeFromOne)
    .addOption(option.policy)
    .addOption(option.algorithm)
    .addOption(option.url)
    .addOption(option.token)
    .addOption(option.json)
    .action(async (key: string, options: AskOptions) => {
      const { check } = await import('./cli/ask.js')
      finish(await check(key, options, terminal))
    })
  add('peek', '<key>', 'look what is left, and count nothing')
    .addOption(option.policy)
    .addOption(option.algorithm)
    .addOption(option.url)
    .addOption(option.token)
    .addOption(option.json)
    .action(async (key: string, options: AskOptions) => {
      const { peek } = await import('./cli/ask.js')
      finish(await peek(key, options, terminal))
    })
  add('reset', '<key>', 'forget a key, in one policy or in all; for administrators')
    .option('--policy <name>', 'the policy in which to forget it (default: all)')
    .addOption(option.url)
    .addOption(option.token)
    .addOption(option.json)
    .action(async (key: string, options: AskOptions) => {
      const { reset } = await import('./cli/ask.js')
      finish(await reset(key, options, terminal))
    })

  add('validate', '<file>', 'say whether a configuration file is right, and if not, all that is wrong')
    .option('--json', 'print the mistakes as JSON')
    .action(async (file: string, options: { json?: boolean }) => {
      const { validate } = await import('./cli/validate.js')
      finish(validate(file, options, terminal))
    })
  return program
}

/** What the commands that ask a service have in common. */
const option = {
  policy: new Option('--policy <name>', 'the policy to count by (default: the one of the service)'),
  algorithm: new Option(
    '--algorithm <name>',
    'a built-in policy by its algorithm, such as token-bucket',
  ).conflicts('policy'),
  url: new Option('--url <url>', 'where the service is').default('http://127.0.0.1:8080').env('TIDEGATE_URL'),
  token: new Option('--token <token>', 'sent as Authorization: Bearer (default: $TIDEGATE_TOKEN)'),
  json: new Option('--json', "print the service's answer as JSON"),
}

/** What holds for every command: never exit by itself, help on the terminal's terms, a way on after a mistake. */
function settle(command: Command, terminal: Terminal): Command {
  return command
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text.replace(/\n$/, '')),
      writeErr: (text) => terminal.err(text.replace(/\n$/, '')),
    })
    .configureHelp({ styleTitle: (title) => terminal.paint('bold', title) })
    .showHelpAfterError(`See tidegate ${command.name() === 'tidegate' ? '' : `${command.name()} `}--help.`)
}

function wholeFromOne(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number from 1 up.')
}

const CODES = `
Exit codes:
  0  yes     1  no     2  wrong usage, or the service did not take it     3  no answer`

const EXAMPLES = {
  tidegate: `
Examples:
  tidegate start                               serve on http://127.0.0.1:8080, counting in memory
  tidegate start --config tidegate.yaml        with policies and rules of your own
  tidegate check user:123                      may user:123 do one more? exit code 0: yes, 1: no
  tidegate validate tidegate.yaml              is the file right?

tidegate <command> --help tells more about each.`,
  start: `
The command line counts more than TIDEGATE_HOST, TIDEGATE_PORT, TIDEGATE_STORE and TIDEGATE_ADMIN_TOKEN, and
these count more than the file. The file is read again when it changes, and on SIGHUP. SIGTERM stops it when
what is in flight is done.

Examples:
  tidegate start
  tidegate start --port 9000 --store redis://localhost:6379
  tidegate start --config tidegate.yaml --workers 2`,
  check: `${CODES}

Examples:
  tidegate check user:123
  tidegate check user:123 --policy per-user --permits 5
  tidegate check "$USER" --algorithm token-bucket && ./expensive-job
  tidegate check user:123 --json | jq .remaining`,
  peek: `${CODES}
  (0 if one more would pass)

Examples:
  tidegate peek user:123
  tidegate peek user:123 --policy per-user --json`,
  reset: `
It needs the admin token, which the service logs at start if none is configured. Pass it by
$TIDEGATE_ADMIN_TOKEN or $TIDEGATE_TOKEN, or by --token, which other users of the machine can see.
${CODES}

Examples:
  tidegate reset user:123
  tidegate reset user:123 --policy login`,
  validate: `
Nothing is started. Variables such as \${REDIS_URL} in the file must be set, as for start.

Exit codes:
  0  right     1  mistakes     2  wrong usage

Examples:
  tidegate validate tidegate.yaml
  tidegate validate tidegate.yaml --json`,
}
