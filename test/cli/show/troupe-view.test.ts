import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { CliHost } from '../../../src/cli/cli-host.ts';
import type { CliSession } from '../../../src/cli/command.ts';
import {
  lengthText,
  shortDuration,
  sinceText,
  untilText,
} from '../../../src/cli/show/durations.ts';
import { Output } from '../../../src/cli/show/output.ts';
import {
  needsAttention,
  planLines,
  problemLines,
  statusDetails,
  statusLine,
  statusLines,
  summaryText,
  withShortPlaces,
} from '../../../src/cli/show/status-lines.ts';
import { createTroupeView, LiveScreen } from '../../../src/cli/show/troupe-view.ts';
import type { TroupeSnapshot } from '../../../src/domain/host/status.ts';
import { statusOf } from '../stand-in-troupe.ts';

const now = Date.parse('2026-01-02T03:06:10.000Z');
const plain = (_style: unknown, text: string): string => text;
const servers = [
  statusOf('broken', {
    state: 'backingOff',
    reason: 'retrying',
    nextAttemptAt: '2026-01-02T03:06:14.000Z',
    lastError: {
      code: 'UNAVAILABLE',
      kind: 'transport',
      message: 'spawn no-such-server ENOENT',
      exitCode: 127,
      stderrTail: ['\u001b[31mnot found\u001b[0m'],
    },
    action: 'troupe restart broken',
  }),
  statusOf('everything', { tools: 13, pid: 4242 }),
  statusOf('gated', {
    state: 'blocked',
    reason: 'pendingApproval',
    action: 'troupe approve gated',
  }),
];

describe('the live table', () => {
  it('says what goes on while a question has the terminal', () => {
    const written: string[] = [];
    const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 80, rows: 24 });
    stdout.setEncoding('utf8').on('data', (text: string) => written.push(text));
    const host = { stdout, stderr: stdout, env: {} } as unknown as CliHost;
    const launch = { projectRoot: '/p' } as CliSession['launch'];
    const view = createTroupeView({ host, launch, output: new Output(host, false) } as CliSession, {
      snapshot: () => ({ servers }) as unknown as TroupeSnapshot,
      footer: [],
    });
    const release = view.hold();
    expect(written.join('')).toBe(
      '1 ready, 1 blocked, 1 backingOff; the table returns after this question\n',
    );
    release();
    expect(written.join('')).toContain('everything');
    view.end();
  });
});

describe('the status', () => {
  it('shows every column on a wide terminal', () => {
    expect(statusLines(servers, now, 100, plain)).toEqual([
      'SERVER      STATE       REASON           TOOLS   PID   SINCE  NEXT TRY  ACTION',
      'broken      backingOff  retrying                      2m 05s  in 4s     troupe restart broken',
      '  spawn no-such-server ENOENT',
      'everything  ready                           13  4242  2m 05s',
      'gated       blocked     pendingApproval               2m 05s            troupe approve gated',
    ]);
  });

  it('mentions a possible download while a server connects', () => {
    const since = new Date(now - 3_000).toISOString();
    const npx = statusOf('npx', { state: 'connecting', since, mayDownload: true });
    const note = 'first start: the package runner may be downloading the server';
    expect(statusLines([npx], now - 1, 100, plain)).toHaveLength(2);
    expect(statusLines([npx], now, 100, plain)[2]).toBe(`  ${note}`);
    expect(statusLine(npx, now)).toBe('npx connecting: may be downloading');
    expect(statusDetails(npx, now, 100)).toContain(`note        ${note}`);
  });

  it('shows why a server is degraded', () => {
    const message = 'The server did not list its prompts within 30000 ms.';
    const lastError = { code: 'BAD_RESPONSE', kind: 'protocol', message } as const;
    const partial = statusOf('db', { state: 'degraded', reason: 'partialCatalog', lastError });
    expect(statusLines([partial], now, 100, plain)[2]).toBe(`  ${message}`);
    expect(statusLine(partial, now)).toBe(`db degraded (partialCatalog): 0 tools - ${message}`);
  });

  it('shows that a server is ready without tools', () => {
    expect(statusLine(statusOf('db'), now)).toBe('db ready: 0 tools');
    expect(statusLines([statusOf('db')], now, 56, plain)[1]).toMatch(/db +ready +0/);
  });

  it('drops times and pids before truncating names or actions', () => {
    const longer = [...servers, statusOf('a-much-longer-name', { tools: 2, pid: 4343 })];
    expect(statusLines(longer, now, 100, plain)).toEqual([
      'SERVER              STATE       REASON           TOOLS   PID  NEXT TRY  ACTION',
      'broken              backingOff  retrying                      in 4s     troupe restart broken',
      '  spawn no-such-server ENOENT',
      'everything          ready                           13  4242',
      'gated               blocked     pendingApproval                         troupe approve gated',
      'a-much-longer-name  ready                            2  4343',
    ]);
    expect(statusLines(servers, now, 80, plain)).toEqual([
      'SERVER      STATE       REASON           TOOLS  NEXT TRY  ACTION',
      'broken      backingOff  retrying                in 4s     troupe restart broken',
      '  spawn no-such-server ENOENT',
      'everything  ready                           13',
      'gated       blocked     pendingApproval                   troupe approve gated',
    ]);
  });

  it('keeps names, states and actions on a narrow terminal', () => {
    expect(statusLines(servers, now, 56, plain)).toEqual([
      'SERVER      STATE       TOOLS  ACTION',
      'broken      backingOff         troupe restart broken',
      '  spawn no-such-server ENOENT',
      'everything  ready          13',
      'gated       blocked            troupe approve gated',
    ]);
  });

  it('shows a whole action below its row where the column would cut it, from the project folder on', () => {
    const action =
      'provide what is missing or fix /srv/app/troupe.json:10, then troupe restart broken';
    const [broken] = withShortPlaces([statusOf('broken', { state: 'failed', action })], '/srv/app');
    const lines = statusLines(broken === undefined ? [] : [broken], now, 60, plain);
    expect(lines.slice(2)).toEqual([
      '  -> provide what is missing or fix troupe.json:10, then',
      '     troupe restart broken',
    ]);
    expect(lines[1]).not.toContain('provide');
  });

  it('truncates failures, then omits them, before omitting a server', () => {
    const lines = (width: number, most: number) => statusLines(servers, now, width, plain, most);
    expect(lines(20, 9)[2]).toBe('  spawn no-such-ser…');
    expect(lines(56, 4).map((line) => line.split(' ')[0])).toEqual([
      'SERVER',
      'broken',
      'everything',
      'gated',
    ]);
    expect(lines(56, 3).slice(2)).toEqual(['… and 2 more: troupe status']);
    expect(lines(56, 2).slice(1)).toEqual(['… and 3 more: troupe status']);
  });

  it('shows problems first, with their failures, when it has too few lines', () => {
    const failed = (name: string) =>
      statusOf(name, {
        state: 'failed',
        lastError: { code: 'CRASHED', kind: 'crashed', message: `no database for ${name}` },
      });
    const many = [
      ...servers,
      ...Array.from({ length: 9 }, (_, index) => statusOf(`ok-${index}`)),
      statusOf('refusing', { circuit: 'open' }),
      failed('y'),
      failed('z'),
    ];
    expect(statusLines(many, now, 60, plain, 11).map((line) => line.slice(0, 26).trim())).toEqual([
      'SERVER      STATE       TO',
      'y           failed',
      'no database for y',
      'z           failed',
      'no database for z',
      'gated       blocked',
      'refusing    ready',
      'broken      backingOff',
      'spawn no-such-server ENO',
      'everything  ready',
      '… and 9 more: troupe statu',
    ]);
    expect(summaryText(many)).toBe('11 ready, 2 failed, 1 blocked, 1 backingOff');
    expect(many.filter(needsAttention).map(({ name }) => name)).toEqual([
      'broken',
      'gated',
      'refusing',
      'y',
      'z',
    ]);
  });

  it("shows a running server's open circuit and the command that closes it", () => {
    const open = statusOf('db', { circuit: 'open', tools: 2 });
    expect(statusLines([open], now, 80, plain)[1]).toMatch(
      /^db +ready +circuit open +2 .* troupe restart db$/,
    );
    expect(statusDetails(open, now, 80)).toContain('next step   troupe restart db');
    expect(statusLine(open, now)).toBe('db ready: 2 tools, circuit open -> troupe restart db');
    const away = statusOf('db', { circuit: 'open', state: 'stopped', action: 'troupe start db' });
    expect(statusLines([away], now, 80, plain)[1]).not.toContain('circuit');
    const slow = statusOf('db', {
      circuit: 'halfOpen',
      state: 'degraded',
      reason: 'healthCheck',
    });
    expect(statusLines([slow], now, 200, plain)[1]).toContain('circuit halfOpen, healthCheck');
  });

  it('shows what a user asks about one server, and the rest with the details', () => {
    const [broken = statusOf('none')] = servers;
    const all = statusDetails(broken, now, 80, true);
    expect(statusDetails(broken, now, 80)).toEqual(
      all
        .filter((line) => !/^(?:circuit|generation) /u.test(line))
        .map((line) => line.replace('0 (live)', '0')),
    );
    const { lastError } = broken;
    const ready = statusOf('db', { era: 'legacy', ...(lastError && { lastError }) });
    expect(statusDetails(ready, now, 80).join('\n')).not.toMatch(/error|era|stderr/u);
    const again = { ...ready, state: 'connecting' as const };
    expect(statusDetails(again, now, 80).join('\n')).toMatch(/^last error /mu);
    expect(statusDetails(ready, now, 80, true).join('\n')).toMatch(
      /^era +legacy$[^]*^last error /mu,
    );
    expect(all).toEqual([
      'server      broken',
      'state       backingOff (retrying)',
      'since       2026-01-02T03:04:05.000Z (2m 05s ago)',
      'tools       0 (live)',
      'circuit     closed',
      'next try    in 4s',
      'restarts    0',
      'transport   stdio',
      'source      /settings/troupe.json:3 (config)',
      'generation  abababababab',
      'last error  UNAVAILABLE: spawn no-such-server ENOENT',
      'exit        127',
      'next step   troupe restart broken',
      'stderr',
      '  | not found',
    ]);
  });

  it('prints one line per change without a terminal', () => {
    expect(servers.map((server) => statusLine(server, now))).toEqual([
      'broken backingOff (retrying): next try in 4s - spawn no-such-server ENOENT -> troupe restart broken',
      'everything ready: 13 tools, pid 4242',
      'gated blocked (pendingApproval) -> troupe approve gated',
    ]);
  });

  it('lists only steps that change something, with reasons', () => {
    expect(
      planLines([
        { server: 'a', step: 'keep', why: 'unchanged' },
        { server: 'b', step: 'replace', why: 'args changed' },
      ]),
    ).toEqual(['plan: restart b (args changed)']);
    const why = 'in the settings, not running yet, but pendingApproval';
    expect(planLines([{ server: 'c', step: 'spawn', why }])).toEqual([
      'plan: c does not start: pendingApproval (in the settings)',
    ]);
  });

  it('shows the file, line and key of a settings problem', () => {
    const problem = { file: 't.json', line: 7, key: 'mcpServers.db.url', message: 'write a URL' };
    expect(problemLines([problem])).toEqual(['settings: t.json:7 mcpServers.db.url: write a URL']);
  });

  it.each([
    [0, '0s'],
    [59_400, '59s'],
    [60_000, '1m 00s'],
    [3_599_000, '59m 59s'],
    [3_600_000, '1h 00m'],
    [90_000_000, '1d 1h'],
    [-5_000, '0s'],
  ])('shows %i ms as %s', (ms, text) => {
    expect(shortDuration(ms)).toBe(text);
  });

  it.each([
    [0.4, '0ms'],
    [999.4, '999ms'],
    [999.6, '1s'],
    [1_500, '1.5s'],
    [59_940, '59.9s'],
    [59_960, '1m 00s'],
    [66_000, '1m 06s'],
    [3_900_000, '1h 05m'],
  ])('shows a duration of %d ms as %s', (ms, text) => {
    expect(lengthText(ms)).toBe(text);
  });

  it('shows nothing for an invalid or missing time', () => {
    expect(sinceText('later', now)).toBe('');
    expect(untilText(undefined, now)).toBe('');
    expect(untilText('2026-01-02T03:06:09.000Z', now)).toBe('now');
  });
});

describe('the live screen', () => {
  const drawn = () => {
    const writes: string[] = [];
    return { writes, screen: new LiveScreen((text) => void writes.push(text)) };
  };

  it('overwrites the last frame in one write, without clearing it first', () => {
    const { writes, screen } = drawn();
    screen.show(['a', 'b']);
    screen.show(['c', 'd']);
    expect(writes).toEqual([
      '\u001b[?25la\u001b[K\nb\u001b[K\n\u001b[J',
      '\u001b[2A\rc\u001b[K\nd\u001b[K\n\u001b[J',
    ]);
  });

  it('writes nothing for an unchanged frame', () => {
    const { writes, screen } = drawn();
    screen.show(['a']);
    screen.show(['a']);
    expect(writes).toHaveLength(1);
  });

  it('writes log lines above the block', () => {
    const { writes, screen } = drawn();
    screen.show(['a']);
    screen.log(['news']);
    screen.show(['a']);
    expect(writes[1]).toBe('\u001b[1A\rnews\u001b[K\na\u001b[K\n\u001b[J');
    expect(writes[2]).toBe('\u001b[1A\ra\u001b[K\n\u001b[J');
  });

  it('removes its block at the end and restores the cursor', () => {
    const { writes, screen } = drawn();
    screen.show(['a']);
    screen.end();
    expect(writes.at(-1)).toBe('\u001b[1A\r\u001b[J\u001b[?25h');
  });

  it('writes later lines without the block', () => {
    const { writes, screen } = drawn();
    screen.show(['a']);
    screen.end();
    screen.log(['news']);
    screen.end();
    expect(writes.slice(2).join('')).toBe('\u001b[?25lnews\u001b[K\n\u001b[J\u001b[J\u001b[?25h');
    screen.show(['a']);
    expect(writes.at(-1)).toContain('a');
  });
});
