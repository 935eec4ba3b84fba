import { vocabulary } from './commands/all';
import { makeContext, type Surroundings } from './context';
import { asProblem } from './failure';
import { globalSettings } from './global-settings';
import { errorText, painter } from './output';
import { HelpWanted, parse } from './parser';
import { exitCodesText } from './problem';
import { type Format, findVariable, formats } from './settings';
import { version } from './version';

const begin = `
Options and environment of all commands: keystead help global

${exitCodesText}

Begin with:
  keystead status
  keystead login
  keystead secrets enable -version=2 kv
  keystead kv put kv/first color=green
  keystead kv get kv/first`;

/** Runs one command line, without the program's own name in it, and resolves with its exit code. */
export async function run(args: readonly string[], surroundings: Surroundings): Promise<number> {
  const { env, out, err } = surroundings;
  let code = 0;
  try {
    if (/^(--?version|-v)$/.test(args[0] ?? '')) {
      out(`${version()}\n`);
      return 0;
    }
    const { spec, flags, args: commandArguments } = parse(vocabulary, args);
    const context = await makeContext(surroundings, flags, (exitCode) => {
      code = exitCode;
    });
    await spec.run(context, flags, ...commandArguments);
    return code;
  } catch (error) {
    if (error instanceof HelpWanted) {
      out(`${error.text}${isWhole(args) ? `${begin}\n` : ''}`);
      return 0;
    }
    const { message, exitCode } = asProblem(error);
    const format = formatAsked(args, env);
    const text = await errorText(message, format);
    err(`${format === 'table' ? painter({ ...surroundings, env }, 'err')('red', text) : text}\n`);
    if (env.KEYSTEAD_TRACE) err(`${(error as Error).stack ?? String(error)}\n`);
    return exitCode;
  } finally {
    surroundings.ask.close();
  }
}

/** Whether the user asked for the help of the whole program. */
const isWhole = (args: readonly string[]): boolean =>
  args.every((arg) => arg.startsWith('-')) || args.join(' ') === 'help';

/** The requested format, even if the rest of the command line is invalid. */
function formatAsked(args: readonly string[], env: NodeJS.ProcessEnv): Format {
  const at = args.findIndex((arg) => /^--?format(=|$)/.test(arg));
  const name = at === -1 ? findVariable(globalSettings.format, env)?.value : (args[at]?.split('=')[1] ?? args[at + 1]);
  return formats.find((format) => format === name) ?? 'table';
}
