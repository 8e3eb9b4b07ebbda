import { type CommandDefinition, flag } from '../command.ts';
import type { ConnectFlags } from '../connect/connect.ts';
import { type HostName, hostNames } from '../connect/hosts.ts';

/** `connect` and `disconnect`: whether another program starts `troupe serve`. */
export const connectCommands: readonly CommandDefinition<ConnectFlags>[] = (
  [true, false] as const
).map((wish) => {
  const verb = wish ? 'connect' : 'disconnect';
  return {
    usage: `${verb} <host>`,
    summary: wish
      ? 'let another program use the servers: add troupe serve to its settings'
      : "remove troupe serve from another program's settings",
    details:
      'Shows the change and asks before it writes. Comments and order stay, and the file as it was without troupe is kept beside the new one. It edits the settings of the user, never those of the project.',
    example: `troupe ${verb} cursor`,
    choices: hostNames,
    options: [
      ...(wish
        ? [
            flag(
              '--replace',
              'also take out the servers that troupe runs as well; disconnect puts them back',
            ),
          ]
        : []),
      flag('--yes', 'write without asking'),
    ],
    async run(session, [host = ''], flags) {
      const { connectHost } = await import('../connect/connect.ts');
      return connectHost(session, host as HostName, { ...flags, wish });
    },
  };
});
