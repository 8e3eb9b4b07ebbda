/**
 * Login settings of other programs. Their names for one key do not contradict each other, so all
 * programs share one table.
 *
 * Sources: Claude Code, "Connect to MCP servers" (`clientId`, `callbackPort`, `scopes`,
 * `authServerMetadataUrl`); VS Code, `mcpConfiguration.ts` (`clientId`); Gemini CLI and Qwen Code,
 * `docs/tools/mcp-server.md`; Codex, `mcp_types.rs` (`client_id`); opencode, `McpOAuth`;
 * docker-agent, `RemoteOAuthConfig`; Zed, pull request 52900 (`client_id`, `client_secret`);
 * oh-my-pi, `mcp/types.ts`; Cursor's static OAuth (`CLIENT_ID`); mcporter, `docs/config.md`.
 */

import { oauthKeys } from '../entry/oauth-schema.ts';
import { memberOf, membersOf, scalar, type TreeMember, type TreeNode } from '../settings-tree.ts';
import { type EntryDraft, type KeyRule, unknownKey } from './entry-draft.ts';
import { drop, keyRules, leave, remark, textAt, textOf, unless } from './key-rules.ts';

/** Sets a key of `oauth`. An absent value may be written as null. */
const asKey = (name: string): KeyRule =>
  unless(null, (member, draft) => draft.putInto('oauth', name, member.node, member));

const endpoint = leave(
  'the endpoints come from the metadata of the issuer; if it has none at the usual places, set "oauth": { "metadataUrl": … }',
);
const audience = remark(
  "tokens are always requested for the server's own address; no action needed unless the issuer demands another",
);
const otherStore = leave(
  'logins of other programs are not read; run troupe login SERVER once the server demands it',
);
const google = leave(
  'Google credentials are not read; set "headersCommand" to a program that prints { "Authorization": "Bearer …" }, with a token of gcloud auth print-access-token or print-identity-token',
);

const enabled = unless(
  true,
  leave('a server may demand a login at any time; write "oauth": false to refuse'),
);

const parts = keyRules({
  authServerMetadataUrl: asKey('metadataUrl'),
  scope: asKey('scopes'),
  client_id: asKey('clientId'),
  client_secret: asKey('clientSecret'),
  CLIENT_ID: asKey('clientId'),
  CLIENT_SECRET: asKey('clientSecret'),
  enabled,
  authorizationUrl: endpoint,
  tokenUrl: endpoint,
  registrationUrl: endpoint,
  audiences: audience,
  resource: audience,
  tokenParamName: remark('tokens are sent in a header only; no action needed'),
  callbackPath: leave(
    'the path is not imported; set "redirectUri" to the whole address, with its port',
  ),
  prompt: remark('the issuer decides what it asks; no action needed'),
  credentialId: otherStore,
  callbackRedirectURL: asKey('redirectUri'),
  // LibreChat, and Kiro's `oauthScopes`.
  authorization_url: endpoint,
  token_url: endpoint,
  redirect_uri: asKey('redirectUri'),
  oauthScopes: asKey('scopes'),
});

/** Keys within `oauth` that only other programs use. */
export const foreignOAuthKeys: readonly string[] = [...parts.keys()];

/** Converts an object of login settings, or false. */
export const logIn: KeyRule = unless(null, (member, draft) => {
  const { node } = member;
  // The entry's parser judges a value without parts: false, an empty object, or a wrong kind.
  if (membersOf(node).length === 0) draft.put('oauth', node, member);
  for (const written of membersOf(node)) {
    const part = draft.placed(member, withPort(written, node));
    const isOurs = oauthKeys.includes(part.name);
    const orElse = draft.isKept(part.name) ? asKey(part.name) : unknownKey;
    const rule = isOurs ? asKey(part.name) : (parts.get(part.name) ?? orElse);
    rule(part, draft);
  }
});

/**
 * Converts login settings of a program whose clients are registered with an address of its own.
 *
 * @param address - undefined if the settings do not lead to one
 */
export const logInAt =
  (address: (oauth: TreeNode) => string | undefined): KeyRule =>
  (member, draft) => {
    logIn(member, draft);
    const { line, node } = member;
    const redirectUri = membersOf(node).length === 0 ? undefined : address(node);
    if (redirectUri !== undefined)
      draft.putInto('oauth', 'redirectUri', scalar(line, redirectUri), member);
  };

/** docker-agent puts the port that it listens on into the address. */
function withPort(part: TreeMember, holder: TreeNode): TreeMember {
  const text = textOf(part.node);
  const port = memberOf(holder, 'callbackPort')?.node;
  if (part.name !== 'callbackRedirectURL' || text === undefined) return part;
  if (port?.kind !== 'scalar') return part;
  const filled = text.replaceAll('${callbackPort}', String(port.value));
  return { ...part, node: scalar(part.node.line, filled) };
}

/** `auth`: `"oauth"` in mcporter, an object in Cursor and oh-my-pi. */
const auth: KeyRule = (member, draft) => {
  const word = textOf(member.node) ?? textAt(member.node, 'type');
  if (member.node.kind === 'object') {
    const members = member.node.members.filter(({ name }) => name !== 'type');
    if (members.length > 0) logIn({ ...member, node: { ...member.node, members } }, draft);
  }
  // A login needs no key: the server demands it.
  if (word === 'oauth' || (word === undefined && member.node.kind === 'object')) return;
  draft.leave(
    member,
    'this kind of authentication is not imported; set "headers" or "headersCommand"',
  );
};

const providerType: KeyRule = (member, draft) => {
  // What every server gets.
  if (textOf(member.node) !== 'dynamic_discovery') google(member, draft);
};

/** The name of a variable with a secret. */
const fromVariable =
  (group: 'oauth' | 'headers', key: string, before = ''): KeyRule =>
  (member, draft) => {
    const name = textOf(member.node);
    if (name === undefined) draft.putInto(group, key, member.node, member);
    else draft.putReference(group, key, `${before}\${${name}}`, member);
  };

const bearerToken: KeyRule = (member, draft) => {
  const token = textOf(member.node);
  const node = token === undefined ? member.node : scalar(member.line, `Bearer ${token}`);
  draft.putInto('headers', 'Authorization', node, member);
};

// Characters with a meaning in a shell.
const shellMarks = /["'`$\\|&;<>()*?[\]{}~#!\r\n]/u;

/** A program that prints headers, as a command line for a shell. */
export const headersProgram: KeyRule = (member, draft) => {
  const { line } = member;
  const text = textOf(member.node)?.trim();
  const words =
    text === undefined || !shellMarks.test(text) ? text?.split(/\s+/u) : ['sh', '-c', text];
  const list = words?.map((word) => scalar(line, word));
  const node: TreeNode = list === undefined ? member.node : { kind: 'array', line, items: list };
  draft.put('headersCommand', node, member);
};

/** Keys of entries in `mcpServers`; mcporter accepts each of its own in two spellings. */
export const logInRules: Readonly<Record<string, KeyRule>> = {
  oauth: logIn,
  auth,
  headersHelper: headersProgram,
  authProviderType: providerType,
  targetAudience: google,
  targetServiceAccount: google,
  ...inBothSpellings({
    oauthClientId: asKey('clientId'),
    oauthClientSecret: asKey('clientSecret'),
    oauthClientSecretEnv: fromVariable('oauth', 'clientSecret'),
    oauthClientMetadataUrl: asKey('clientMetadataUrl'),
    oauthScope: asKey('scopes'),
    oauthRedirectUrl: asKey('redirectUri'),
    oauthTokenEndpointAuthMethod: asKey('tokenEndpointAuthMethod'),
    tokenEndpointAuthMethod: asKey('tokenEndpointAuthMethod'),
    clientName: remark('a client is registered as mcp-troupe; no action needed'),
    tokenCacheDir: otherStore,
    bearerToken,
    bearerTokenEnv: fromVariable('headers', 'Authorization', 'Bearer '),
  }),
};

function inBothSpellings(
  rules: Readonly<Record<string, KeyRule>>,
): Readonly<Record<string, KeyRule>> {
  const snake = (name: string): string =>
    name.replaceAll(/[A-Z]/gu, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(
    Object.entries(rules).flatMap(([name, rule]) => [
      [name, rule],
      [snake(name), rule],
    ]),
  );
}

/** Codex keeps one port and one address for all servers. */
export const codexLogInRules: Readonly<Record<string, KeyRule>> = {
  scopes: asKey('scopes'),
  oauth: logIn,
  oauth_resource: audience,
  auth: (member: TreeMember, draft: EntryDraft): void => {
    if (textOf(member.node) === 'oauth') drop(member, draft);
    else auth(member, draft);
  },
  http_headers_helper: headersProgram,
  bearer_token_env_var: fromVariable('headers', 'Authorization', 'Bearer '),
  mcp_oauth_callback_port: asKey('callbackPort'),
  mcp_oauth_callback_url: asKey('redirectUri'),
};
