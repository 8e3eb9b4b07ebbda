import { type CommandDefinition, flag, textsFlag } from '../command.ts';
import { parseOpenPort, parseText } from '../flag-values.ts';
import type { AddFlags } from '../settings/add-server.ts';

/** `add`: writes a server into a settings file. */
const addCommand: CommandDefinition<AddFlags> = {
  usage: 'add <name> [command...]',
  summary: 'add a server to your settings: a command after --, or a URL',
  details: [
    "It is added to the project folder's troupe.json, or to the file of --scope or --config. Comments and order stay; an existing server is never replaced. A running troupe starts it at once.",
    'In a terminal, or with --yes, the command approves the server that you typed. Otherwise a server in a project file still needs troupe approve.',
  ].join('\n\n'),
  example:
    'troupe add files -- npx -y @modelcontextprotocol/server-filesystem .\n' +
    "  troupe add api https://api.example.com/mcp --header 'Authorization: Bearer ${TOKEN}'\n" +
    '  troupe add github https://api.githubcopilot.com/mcp/ --oauth-client-id ID --oauth-callback-port 8080',
  options: [
    textsFlag('--env <name=value>', 'a variable of the process; may be repeated'),
    flag('--cwd <dir>', 'working folder of the process (default: the project folder)', parseText),
    textsFlag('--header <name=value>', 'a header of every request; may be repeated'),
    {
      ...flag('--type <transport>', 'how to talk to a URL (default: follows from it)'),
      choices: ['stdio', 'http', 'sse', 'ws'],
    },
    {
      ...flag('--scope <scope>', 'whose settings (default: project)'),
      choices: ['user', 'project', 'local'],
    },
    flag('--account <name>', 'the account to log in with, if there are several', parseText),
    flag('--oauth-client-id <id>', 'a client that you registered with the issuer', parseText),
    flag(
      '--oauth-client-secret-env <variable>',
      'the variable with its secret; its name is written, not its value',
      parseText,
    ),
    flag(
      '--oauth-callback-port <port>',
      'the port that the client is registered with (default: any free port)',
      parseOpenPort,
    ),
    textsFlag('--oauth-scope <scope>', 'a scope to request; may be repeated'),
    flag('--yes', 'approve it without a terminal'),
  ],
  async run(session, [name = '', ...words], flags) {
    // Loaded late: no other command needs the parsers of all formats.
    const { addServer } = await import('../settings/add-server.ts');
    return addServer(session, name, words, flags);
  },
};

/** `remove`: deletes a server from the file that declares it. */
const removeCommand: CommandDefinition = {
  usage: 'remove <server>',
  summary: 'remove a server from the settings file that declares it',
  details:
    "Order and comments stay, except those on the entry's own lines. A running troupe stops the server at once.",
  example: 'troupe remove files',
  async run(session, [server = '']) {
    const { removeServer } = await import('../settings/edit-server.ts');
    return removeServer(session, server);
  },
};

/** `enable` and `disable`: switch a server or one of its tools in the file that declares the server. */
const enableCommands: readonly CommandDefinition[] = ([true, false] as const).map(
  (wish): CommandDefinition => {
    const verb = wish ? 'enable' : 'disable';
    return {
      usage: `${verb} <server>`,
      summary: wish
        ? 'enable a server, or a tool written as SERVER/TOOL, in the settings file that declares it'
        : 'disable a server, or a tool written as SERVER/TOOL, in the settings file that declares it',
      details: 'Comments and order stay. A running troupe applies it at once.',
      example: `troupe ${verb} files\n  troupe ${verb} files/write_file`,
      async run(session, [subject = '']) {
        const { switchServer, switchTool } = await import('../settings/edit-server.ts');
        const at = subject.indexOf('/');
        if (at === -1) return switchServer(session, subject, wish);
        const tool = { server: subject.slice(0, at), tool: subject.slice(at + 1) };
        return switchTool(session, tool, wish);
      },
    };
  },
);

/** Commands that edit the settings files. */
export const settingsCommands: readonly CommandDefinition[] = [
  addCommand,
  removeCommand,
  ...enableCommands,
];
