import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { version } from '../version.js'
import type { CheckOptions } from './check-commands.js'
import type { StartFlags } from './start.js'
import { EXIT, type Terminal } from './terminal.js'
import type { ValidateOptions } from './validate.js'

/** Runs a command line and returns the exit code. Each command imports its own code on demand. */
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
  configureCommand(program, terminal)
  program
    .description('A rate limit service and its command line.')
    .version(version(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [command]', 'show the help of a command')
    .addHelpText('after', EXAMPLES.tidegate)

  const add = (name: keyof typeof EXAMPLES, operands: string, description: string) =>
    configureCommand(program.command(`${name} ${operands}`.trim()), terminal)
      .description(description)
      .helpOption('-h, --help', 'show this help')
      .addHelpText('after', EXAMPLES[name])

  add('start', '', 'start the service')
    .option('-c, --config <file>', 'configuration file (default: none)')
    .option('--host <address>', 'address to listen on (default: 127.0.0.1)')
    .option('--port <number>', 'port to listen on (default: 8080)')
    .option(
      '--store <url>',
      'memory, redis://, rediss://, redis+sentinel:// or redis+cluster:// (default: memory)',
    )
    .option('--rls <[host:]port>', 'also serve the rate limit service for Envoy (gRPC) on this port')
    .option('--rls-config <path...>', 'files and folders with limits for --rls')
    .option('--rls-tls-cert <file>', 'certificate for --rls, as PEM (default: no TLS)')
    .option('--rls-tls-key <file>', 'private key of the certificate, as PEM')
    .option('--rls-tls-ca <file>', 'require client certificates issued by this authority, as PEM')
    .option('--workers <number>', 'number of processes; more than 1 needs Redis', wholeFromOne, 1)
    .addOption(OPTION.profiles)
    .action(async (flags: StartFlags) => {
      const { start } = await import('./start.js')
      finish(await start(flags, terminal))
    })

  const addServiceCommand = (
    name: 'check' | 'peek' | 'reset',
    description: string,
    options: readonly Option[],
  ) => {
    const command = add(name, '<key>', description)
    for (const option of [...options, OPTION.url, OPTION.token, OPTION.json]) command.addOption(option)
    command.action(async (key: string, options: CheckOptions) => {
      const commands = await import('./check-commands.js')
      finish(await commands[name](key, options, terminal))
    })
  }
  addServiceCommand('check', 'check a key, and count the check if it is allowed', [
    OPTION.permits,
    OPTION.policy,
    OPTION.algorithm,
  ])
  addServiceCommand('peek', 'show the remaining units of a key, without counting', [
    OPTION.policy,
    OPTION.algorithm,
  ])
  addServiceCommand('reset', 'reset a key in one policy or in all; needs the admin token', [
    OPTION.policyToReset,
  ])

  add('validate', '<file>', 'validate a configuration file or limits for --rls, and list all errors')
    .option('--json', 'print the errors as JSON')
    .option('--strict', 'exit with 1 if there are warnings')
    .addOption(OPTION.profiles)
    .action(async (file: string, options: ValidateOptions) => {
      const { validate } = await import('./validate.js')
      finish(validate(file, options, terminal))
    })
  return program
}

/** Options of the commands that call a service. */
const OPTION = {
  permits: new Option('--permits <number>', 'units to take (default: 1)').argParser(wholeFromOne),
  policyToReset: new Option('--policy <name>', 'the policy to reset (default: all)'),
  policy: new Option('--policy <name>', 'the policy (default: the default policy of the service)'),
  algorithm: new Option(
    '--algorithm <name>',
    'a built-in policy by its algorithm, such as token-bucket',
  ).conflicts('policy'),
  url: new Option('--url <url>', 'URL of the service').default('http://127.0.0.1:8080').env('TIDEGATE_URL'),
  token: new Option('--token <token>', 'sent as Authorization: Bearer (default: $TIDEGATE_TOKEN)'),
  profiles: new Option(
    '--profiles <names>',
    'active profiles of a Spring file, separated by commas (default: $SPRING_PROFILES_ACTIVE)',
  ),
  json: new Option('--json', "print the service's response as JSON"),
}

/** Settings of every command: throw instead of exit, write to the terminal, and point to the help after an error. */
function configureCommand(command: Command, terminal: Terminal): Command {
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
  throw new InvalidArgumentError('It must be a whole number of at least 1.')
}

const CODES = `
Exit codes:
  0  allowed     1  denied     2  usage error, or rejected by the service     3  no response, or the service failed`

const EXAMPLES = {
  tidegate: `
Examples:
  tidegate start                               serve on http://127.0.0.1:8080, with the memory store
  tidegate start --config tidegate.yaml        serve with your policies and rules
  tidegate check user:123                      check a key; exit code 0 if allowed, 1 if denied
  tidegate validate tidegate.yaml              list the errors of a file

tidegate <command> --help shows the options of a command.`,
  start: `
Options override TIDEGATE_HOST, TIDEGATE_PORT, TIDEGATE_STORE and TIDEGATE_ADMIN_TOKEN, and these override the file.
The file is reloaded when it changes, and on SIGHUP. On SIGTERM, the service finishes the requests in flight and stops.

Examples:
  tidegate start
  tidegate start --port 9000 --store redis://localhost:6379
  tidegate start --config tidegate.yaml --workers 2
  tidegate start --rls 8081 --rls-config /etc/ratelimit/config`,
  check: `${CODES}

Examples:
  tidegate check user:123
  tidegate check user:123 --policy per-user --permits 5
  tidegate check "$USER" --algorithm token-bucket && ./expensive-job
  tidegate check user:123 --json | jq .remaining`,
  peek: `${CODES}
  (0 if one more request would be allowed)

Examples:
  tidegate peek user:123
  tidegate peek user:123 --policy per-user --json`,
  reset: `
Requires the admin token, which the service logs at start if none is configured. Set $TIDEGATE_ADMIN_TOKEN or
$TIDEGATE_TOKEN, or pass --token, which other users of the machine can see.

Exit codes:
  0  reset     2  usage error, or rejected by the service     3  no response, or the service failed

Examples:
  tidegate reset user:123
  tidegate reset user:123 --policy login`,
  validate: `
Does not start a service. Variables such as \${REDIS_URL} in the file must be set, as for start. For a Spring file,
unsupported features are listed as warnings, and unused sections by name. A folder, or a file with a domain, is validated
as limits for --rls.

Exit codes:
  0  valid     1  errors     2  usage error

Examples:
  tidegate validate tidegate.yaml
  tidegate validate tidegate.yaml --json
  tidegate validate /etc/ratelimit/config`,
}
