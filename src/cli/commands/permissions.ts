import { printableLine, quotedWord } from '../../domain/data/printable.ts';
import type { PermissionChoice } from '../../domain/permission.ts';
import { usageError } from '../../domain/user-errors.ts';
import { realClock } from '../../runtime/real-clock.ts';
import { type CliSession, type CommandDefinition, flag } from '../command.ts';
import { findRunning } from '../control/running-troupe.ts';
import type { Launch } from '../launch.ts';

const longestLine = 500;

/** Stored permissions, and how to forget them. */
interface Remembered {
  list(): Promise<readonly PermissionChoice[]>;
  forget(which: Which): Promise<number>;
}

interface Which {
  readonly server?: string;
  readonly tool?: string;
}

/** `permissions`: lists and forgets what the user allowed permanently. */
export const permissionsCommand: CommandDefinition<{ readonly all?: true }> = {
  usage: 'permissions [action] [server]',
  summary: 'list the tools and servers you always allow; forget removes them',
  details:
    'permissions forget SERVER/TOOL removes one tool, permissions forget SERVER everything of a server, and permissions forget --all everything in this project. You are then asked again. Rules in settings are not listed here.',
  example: 'troupe permissions forget db/query',
  choices: ['forget'],
  options: [flag('--all', 'with forget: remove everything in this project')],
  async run(session, [action, wanted], { all = false }) {
    if (action === undefined && all)
      throw usageError('--all only works with forget: troupe permissions forget --all');
    if (action !== undefined && (wanted === undefined) !== all)
      throw usageError('name what to forget: SERVER, SERVER/TOOL or --all; see troupe permissions');
    await withRemembered(session, (remembered) =>
      action === undefined ? list(session, remembered) : forget(session, remembered, wanted),
    );
  },
};

async function list({ output }: CliSession, remembered: Remembered): Promise<void> {
  const permissions = await remembered.list();
  output.document({ permissions });
  if (permissions.length === 0) output.lines(['nothing is always allowed']);
  output.lines(permissions.map(lineOf));
}

async function forget(
  { output }: CliSession,
  remembered: Remembered,
  wanted: string | undefined,
): Promise<void> {
  const which = wanted === undefined ? {} : pairOf(wanted, await remembered.list());
  const forgotten = await remembered.forget(which);
  output.document({ forgotten });
  const about = wanted === undefined ? 'this project' : quotedWord(wanted);
  output.lines([
    forgotten === 0
      ? `nothing was always allowed for ${about}`
      : `forgot ${forgotten} for ${about}`,
  ]);
}

/** A name may contain a slash, so stored names decide where the server's name ends. */
function pairOf(wanted: string, known: readonly PermissionChoice[]): Which {
  const isServer = known.some(({ server }) => server === wanted);
  if (isServer || !wanted.includes('/')) return { server: wanted };
  const meant = known.find(({ server, tool }) => `${server}/${tool}` === wanted);
  const at = wanted.indexOf('/');
  return meant?.tool === undefined
    ? { server: wanted.slice(0, at), tool: wanted.slice(at + 1) }
    : { server: meant.server, tool: meant.tool };
}

function lineOf({ server, tool, decidedAt, file }: PermissionChoice): string {
  const what = tool === undefined ? `${server}: every tool` : `${server}/${tool}`;
  const since = new Date(decidedAt).toISOString();
  const where = file === undefined ? 'until the running troupe ends' : `in ${file}`;
  return printableLine(`${what} allowed since ${since} ${where}`, longestLine);
}

/** Uses the running troupe, which may know permissions that are not on disk; otherwise the file. */
async function withRemembered(
  { launch, output }: CliSession,
  use: (remembered: Remembered) => Promise<void>,
): Promise<void> {
  const running = await findRunning(launch);
  if (running === undefined) return use(await written(launch, (message) => output.note(message)));
  const { client } = running;
  try {
    return await use({
      list: async () => (await client.request('permissions', {})).permissions,
      forget: async (which) => (await client.request('forgetPermissions', which)).forgotten,
    });
  } finally {
    client.close();
  }
}

async function written(launch: Launch, note: (message: string) => void): Promise<Remembered> {
  // Loaded late: it is slow to load, and not needed with a running troupe.
  const { createPermissionStore } = await import('../../../actors/stores/permissions.ts');
  const store = createPermissionStore({
    projectRoot: launch.projectRoot,
    stateDir: launch.stateFolder,
    clock: realClock,
    onProblems: (problems) => {
      for (const { file, message } of problems) note(`${file}: ${message}`);
    },
  });
  return {
    list: () => store.choices(),
    // Does not create a file.
    forget: async (which) => ((await store.choices()).length === 0 ? 0 : store.forget(which)),
  };
}
