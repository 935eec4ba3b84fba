import type { CommandSpec } from '../command';
import { nodesOf } from '../completion/nodes';
import { scripts, shells } from '../completion/scripts';
import type { Groups } from '../parser';
import { Problem } from '../problem';

/** `completion`: the script that lets a shell complete our commands. */
export function completionCommand(commands: () => readonly CommandSpec[], groups: Groups): CommandSpec {
  return {
    name: 'completion',
    help: 'Print the shell script that completes commands and flags.',
    args: { '<shell>': shells.join(', ') },
    flags: {},
    examples: ['completion bash', 'completion zsh', 'completion fish'],
    more: 'For this shell only: source <(keystead completion bash)',
    run({ output }, _, shell: string) {
      const shellName = shells.find((one) => one === shell);
      if (!shellName) throw new Problem(`there is no completion for ${shell}: use ${shells.join(', ')}`);
      output.line(scripts[shellName](nodesOf(commands(), groups)).trimEnd());
    },
  };
}
