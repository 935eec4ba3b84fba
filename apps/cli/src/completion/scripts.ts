import type { CommandNode } from './nodes';

/** The shells that there is completion for. */
export const shells = ['bash', 'zsh', 'fish'] as const;

/** The script that lets a shell complete our commands. */
export const scripts: Readonly<Record<(typeof shells)[number], (nodes: readonly CommandNode[]) => string>> = {
  bash: forBash,
  zsh: forZsh,
  fish: forFish,
};

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

function forBash(nodes: readonly CommandNode[]): string {
  const cases = (name: string, wordsOf: (node: CommandNode) => readonly string[]) =>
    `${name}() {\n  case "$1" in\n${nodes
      .map((node) => `    ${quoted(node.path)}) echo ${quoted(wordsOf(node).join(' '))} ;;`)
      .join('\n')}\n  esac\n}\n`;
  return `# keystead completion bash > /etc/bash_completion.d/keystead, or: source <(keystead completion bash)
${cases('_keystead_below', ({ below }) => below.map(([word]) => word))}
${cases('_keystead_flags', ({ flags }) => flags.map(([flag]) => flag))}
_keystead() {
  local current="\${COMP_WORDS[COMP_CWORD]}" node='' at word
  for ((at = 1; at < COMP_CWORD; at++)); do
    word="\${COMP_WORDS[at]}"
    case " $(_keystead_below "$node") " in
      *" $word "*) node="\${node:+$node }$word" ;;
    esac
  done
  if [[ "$current" == --* ]]; then
    COMPREPLY=($(compgen -W "$(_keystead_flags "$node")" -- "$current"))
  elif [[ "$current" == -* ]]; then
    COMPREPLY=($(compgen -W "$(_keystead_flags "$node" | sed 's/--/-/g')" -- "$current"))
  else
    COMPREPLY=($(compgen -W "$(_keystead_below "$node")" -- "$current"))
  fi
}
complete -o default -F _keystead keystead ./keystead
`;
}

function forZsh(nodes: readonly CommandNode[]): string {
  const entries = (pairs: readonly (readonly [string, string, ...unknown[]])[]) =>
    pairs.map(([word, help]) => quoted(`${word}:${help}`)).join(' ');
  const cases = (name: string, pairsOf: (node: CommandNode) => readonly (readonly [string, string, ...unknown[]])[]) =>
    `${name}() {\n  reply=()\n  case "$1" in\n${nodes
      .map((node) => `    ${quoted(node.path)}) reply=(${entries(pairsOf(node))}) ;;`)
      .join('\n')}\n  esac\n}\n`;
  return `#compdef keystead
# keystead completion zsh > "\${fpath[1]}/_keystead", or: source <(keystead completion zsh)
${cases('_keystead_below', ({ below }) => below)}
${cases('_keystead_flags', ({ flags }) => flags)}
_keystead() {
  local node='' at word
  local -a reply
  for ((at = 2; at < CURRENT; at++)); do
    word=\${words[at]}
    _keystead_below "$node"
    [[ -n \${reply[(r)$word:*]} ]] && node="\${node:+$node }$word"
  done
  if [[ \${words[CURRENT]} == -* ]]; then
    _keystead_flags "$node"
    [[ \${words[CURRENT]} == --* ]] || reply=(\${reply/#--/-})
    _describe flag reply
  else
    _keystead_below "$node"
    if (( $#reply )); then _describe command reply; else _files; fi
  fi
}
if [[ \${funcstack[1]} == _keystead ]]; then _keystead "$@"; else compdef _keystead keystead; fi
`;
}

function forFish(nodes: readonly CommandNode[]): string {
  const escaped = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const lines = nodes.flatMap(({ path, below, flags }) => {
    const here = `complete -c keystead -n ${escaped(`__keystead_at ${escaped(path)}`)}`;
    return [
      ...below.map(([word, help]) => `${here} -f -a ${escaped(word)} -d ${escaped(help)}`),
      // A node that is not a command only has the global flags, which every command has.
      ...flags.map(
        ([flag, help, takesValue]) =>
          `${here} -l ${escaped(flag.slice(2))}${takesValue ? ' -r' : ''} -d ${escaped(help)}`,
      ),
    ];
  });
  return `# keystead completion fish > ~/.config/fish/completions/keystead.fish, or: keystead completion fish | source
set -g __keystead_nodes ${nodes.map(({ path }) => escaped(path)).join(' ')}
function __keystead_at
  set -l node ''
  for word in (commandline -opc)[2..]
    set -l next (string trim "$node $word")
    contains -- "$next" $__keystead_nodes; and set node "$next"
  end
  test "$node" = "$argv[1]"
end
${lines.join('\n')}
`;
}
