import type { CommandDefinition } from '../command.ts';
import { completionScripts, type Shell, shells } from '../completion/scripts.ts';

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
