/**
 * Completion scripts for shells. Each passes the words up to the cursor to `troupe __complete`, which
 * prints what to complete (`words`, `files` or `folders`) and one line per word: the word, a tab and a
 * note. They run the `troupe` on the PATH, never the program that is being typed: pressing Tab must not
 * run a program from a folder.
 */

import type { CommandDefinition } from '../command.ts';

export const completeCommand = '__complete';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

// Works in bash 3.2 of macOS, which has no mapfile and may lack compopt.
const bash = `# bash completion for troupe; in ~/.bashrc: source <(troupe completion bash)

_troupe() {
  local words=() word note kind i rest=$COMP_LINE breaks= head=
  COMPREPLY=()
  # Bash also splits words at = and :, so join the parts that no blank separates.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if ((i > 0)) && [[ -n $COMP_LINE && $rest != [[:blank:]]* ]]; then
      words[\${#words[@]} - 1]+=$word
    else
      words+=("$word")
    fi
    rest=\${rest#*"$word"}
  done
  local current=\${words[\${#words[@]} - 1]}
  {
    IFS= read -r kind
    while IFS=$'\\t' read -r word note; do
      COMPREPLY+=("$word")
    done
  } < <(command troupe ${completeCommand} "\${words[@]:1}" 2>/dev/null)
  case $kind in
    files | folders)
      [[ $current == --*=* ]] && current=\${current#*=}
      compopt -o filenames 2>/dev/null
      local action=-f
      [[ $kind == folders ]] && action=-d
      while IFS= read -r word; do
        COMPREPLY+=("$word")
      done < <(compgen "$action" -- "$current")
      ;;
  esac
  # Bash replaces only what follows the last = or :.
  [[ $COMP_WORDBREAKS == *=* ]] && breaks+='='
  [[ $COMP_WORDBREAKS == *:* ]] && breaks+=':'
  [[ -n $breaks ]] && head=\${current%"\${current##*[$breaks]}"}
  for i in "\${!COMPREPLY[@]}"; do
    COMPREPLY[i]=\${COMPREPLY[i]#"$head"}
  done
}

complete -F _troupe troupe
`;

const zsh = `#compdef troupe
# zsh completion for troupe; in ~/.zshrc, after compinit: source <(troupe completion zsh)

_troupe() {
  local -a lines values notes
  local line
  lines=("\${(@f)$(command troupe ${completeCommand} "\${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
  case $lines[1] in
    files)
      compset -P '--*='
      _files
      ;;
    folders)
      compset -P '--*='
      _files -/
      ;;
    words)
      for line in "\${(@)lines[2,-1]}"; do
        values+=("\${line%%$'\\t'*}")
        notes+=("\${line/$'\\t'/  -- }")
      done
      compadd -l -d notes -a values
      ;;
  esac
}

if [[ $funcstack[1] == _troupe ]]; then
  _troupe "$@"
else
  compdef _troupe troupe
fi
`;

const fish = `# fish completion for troupe; in ~/.config/fish/config.fish: troupe completion fish | source

function __troupe_complete
    set -l words (commandline -opc)
    set -e words[1]
    set -l current (commandline -ct)
    set -l lines (command troupe ${completeCommand} $words "$current" 2>/dev/null)
    set -l before (string match -r -- '^--[^=]*=' "$current")
    set -l value (string replace -r -- '^--[^=]*=' '' "$current")
    switch "$lines[1]"
        case words
            set -e lines[1]
            for line in $lines
                echo -- $line
            end
        case files
            for path in (__fish_complete_path "$value")
                echo -- "$before$path"
            end
        case folders
            for path in (__fish_complete_directories "$value" '')
                echo -- "$before$path"
            end
    end
end

complete -c troupe -f -a '(__troupe_complete)'
`;

export const completionScripts: Readonly<Record<Shell, string>> = { bash, zsh, fish };

/** `completion`: prints a completion script for a shell. */
export const completionCommand: CommandDefinition = {
  usage: 'completion <shell>',
  summary: 'print a shell script that completes commands, flags, servers and tools',
  details:
    'It asks the troupe on your PATH, so troupe must be installed there; npx troupe is not completed.\n\n' +
    'bash: add to ~/.bashrc                   source <(troupe completion bash)\n' +
    'zsh:  add to ~/.zshrc, after compinit    source <(troupe completion zsh)\n' +
    'fish: add to config.fish                 troupe completion fish | source',
  example: 'troupe completion bash',
  choices: shells,
  async run({ output }, [shell = '']) {
    const script = completionScripts[shell as Shell];
    output.document({ shell, script });
    output.raw(script);
  },
};
