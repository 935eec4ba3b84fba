import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { addAuditCommands } from './commands/audit';
import { addBackupCommands } from './commands/backup';
import { addDataCommands } from './commands/data';
import { addLoginCommands } from './commands/login';
import { addMfaCommands } from './commands/mfa';
import { addOperatorCommands } from './commands/operator';
import { addPolicyCommands } from './commands/policy';
import { addRekeyCommands } from './commands/rekey';
import { addSystemCommands } from './commands/system';
import { addTokenCommands } from './commands/token';
import { addWorkspacesCommands } from './commands/workspaces';
import { contextMaker, type Surroundings } from './context';
import { asProblem } from './failure';
import { exitCodes, exitCodesText } from './problem';

const more = `
Environment:
  SERVICE_ADDR        address of the secrets service [http://127.0.0.1:8200]
  SERVICE_TOKEN       token to call with; wins over the file that login keeps
  SERVICE_TOKEN_FILE  that file [~/.keystead/token]
  SERVICE_NAMESPACE   namespace to work in
  SERVICE_CACERT      PEM file of the authority that signed the service's certificate
  SERVICE_FORMAT      table or json

${exitCodesText}

Begin with:
  keystead status
  keystead login
  keystead write cubbyhole/first color=green
  keystead read cubbyhole/first`;

/** The whole tree of commands, which reads from and writes to its surroundings. */
export function makeProgram(surroundings: Surroundings): Command {
  const program = new Command('keystead')
    .description('The command line of both services.')
    .version(version(), '--version', 'print the version of this command')
    .option('--address <url>', 'address of the service (SERVICE_ADDR)')
    .option('--namespace <path>', 'namespace to work in (SERVICE_NAMESPACE)')
    .option('--ca-cert <file>', 'authority of the service certificate (SERVICE_CACERT)')
    .option('--token-file <file>', 'where login keeps the token (SERVICE_TOKEN_FILE)')
    .option('--format <format>', 'table or json (SERVICE_FORMAT)')
    .showHelpAfterError('(keystead --help lists the commands)')
    .addHelpText('after', more)
    .configureOutput({ writeOut: surroundings.out, writeErr: surroundings.err })
    .exitOverride();
  const context = contextMaker(surroundings);
  for (const add of [
    addSystemCommands,
    addLoginCommands,
    addDataCommands,
    addTokenCommands,
    addPolicyCommands,
    addMfaCommands,
    addRekeyCommands,
    addOperatorCommands,
    addAuditCommands,
    addBackupCommands,
    addWorkspacesCommands,
  ]) {
    add(program, context, surroundings);
  }
  inherit(program);
  return program;
}

/** Runs one command line, without the program's own name in it, and resolves with its exit code. */
export async function run(args: readonly string[], surroundings: Surroundings): Promise<number> {
  process.exitCode = 0;
  const program = makeProgram(surroundings);
  try {
    await program.parseAsync(args, { from: 'user' });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.usage;
    const { message, exitCode } = asProblem(error);
    surroundings.err(`${message}\n`);
    if (surroundings.env.KEYSTEAD_TRACE) surroundings.err(`${(error as Error).stack ?? String(error)}\n`);
    return exitCode;
  } finally {
    surroundings.ask.close();
  }
}

function version(): string {
  const { version } = JSON.parse(readFileSync(join(__dirname, '..', 'package.json'), 'utf8')) as { version: string };
  return version;
}

/** Output and error handling are settings of each command, not of the tree. */
function inherit(command: Command): void {
  for (const child of command.commands) {
    child.copyInheritedSettings(command).configureHelp({ showGlobalOptions: true });
    child.showHelpAfterError(`(${pathOf(child)} --help says more)`);
    inherit(child);
  }
}

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}
