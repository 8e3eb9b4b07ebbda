import type { CommandDefinition } from '../command-definition.ts';
import { completionScripts, type Shell, shells } from '../completion/scripts.ts';

/** Defines `completion`: the script that lets a shell complete our command lines. */
export const completionCommand: CommandDefinition = {
  usage: 'completion <shell>',
  summary: 'print a script that lets your shell complete commands, flags, servers and tools',
  details:
    'It completes the command troupe by asking the troupe of your PATH, so that one has to be there: npx troupe alone is not completed.\n\n' +
    'bash: add to ~/.bashrc                   source <(troupe completion bash)\n' +
    'zsh:  add to ~/.zshrc, after compinit    source <(troupe completion zsh)\n' +
    'fish: add to config.fish                 troupe completion fish | source',
  example: 'troupe completion bash',
  options: (command) => command.registeredArguments[0]?.choices([...shells]),
  async run({ output }, [shell = '']) {
    const script = completionScripts[shell as Shell];
    output.document({ shell, script });
    output.raw(script);
    return 0;
  },
};
