import type {
  CompletionRequest,
  CompletionResult,
  ExposedInstructions,
  ExposedPrompt,
  ExposedResource,
  ExposedResourceTemplate,
  PromptResult,
  ResourceResult,
} from '../domain/catalog.ts';
import type { LogLevel } from '../domain/log-level.ts';
import type { PermissionChoice } from '../domain/permission.ts';
import type { Question, QuestionAnswer } from '../domain/question.ts';
import type { ServerProfile, SessionRequest } from '../domain/session.ts';
import type { ExposedTool } from '../domain/tool.ts';
import { TroupeError } from '../domain/troupe-error.ts';
import type { ToolMatch } from '../policies/tools/search.ts';
import type { CallDispatcher } from './calls/dispatcher.ts';
import type { Catalogs } from './catalog/catalogs.ts';
import { catalogSnapshot } from './catalog/snapshot.ts';
import type { ToolAddress } from './catalog/tool-finding.ts';
import type { AddedServers } from './options/added-servers.ts';

import { checkLimit, checkLogLevel, checkName } from './options/check.ts';
import type { CallWatch } from './telemetry/calls.ts';
import type {
  BackgroundCall,
  CallOptions,
  CallReport,
  CatalogSnapshot,
  RequestReport,
  Troupe,
  WaitOptions,
} from './troupe.ts';
import type { Questions } from './user/questions.ts';

type Requests = Pick<
  Troupe,
  | 'tools'
  | 'searchTools'
  | 'catalog'
  | 'callTool'
  | 'callServerTool'
  | 'resources'
  | 'resourceTemplates'
  | 'prompts'
  | 'instructions'
  | 'profile'
  | 'readResource'
  | 'getPrompt'
  | 'complete'
  | 'subscribe'
  | 'wantLogs'
  | 'addServer'
  | 'removeServer'
  | 'questions'
  | 'answer'
  | 'backgroundServers'
  | 'backgroundCalls'
  | 'collect'
  | 'permissions'
  | 'forgetPermissions'
>;

/** What a host can ask of servers and they of it, what they offer, and which it adds itself. */
export abstract class ServerRequests implements Requests {
  protected abstract readonly catalogs: Catalogs;
  protected abstract readonly calls: CallDispatcher;
  protected abstract readonly added: AddedServers;
  protected abstract readonly asked: Questions;

  protected abstract isOver(): boolean;

  /** @throws TroupeError `SHUTTING_DOWN` */
  protected refuseWhenOver(): void {
    if (this.isOver())
      throw new TroupeError('SHUTTING_DOWN', 'The troupe has stopped. Create a new one.');
  }

  /** Before that, names mean nothing. */
  protected abstract hasLooked(): boolean;

  /** Settles with what is left of the options once names mean something. */
  protected abstract afterFirstPass(options: CallOptions): Promise<CallOptions>;

  /** Finds the server of an exposed name, also while its tools are not known yet. */
  protected abstract addressOf(exposedName: string): ToolAddress;

  /** @throws TroupeError when it is certain that there is no such server. */
  protected abstract refuseUnknown(server: string): void;

  addServer(name: string, settings: Readonly<Record<string, unknown>>): void {
    this.refuseWhenOver();
    this.added.add(name, settings);
  }

  removeServer(name: string): void {
    this.refuseWhenOver();
    this.added.remove(name);
  }

  questions(): readonly Question[] {
    return this.asked.list();
  }

  answer(id: string, answer: QuestionAnswer): void {
    checkName('id of the question', id);
    this.asked.answer(id, answer);
  }

  /** Refuses further calls, and ends those that wait and all questions. */
  protected closeRequests(): void {
    this.calls.close();
    this.asked.close();
  }

  backgroundServers(): readonly string[] {
    return this.calls.backgroundServers();
  }

  backgroundCalls(): readonly BackgroundCall[] {
    return this.calls.background.list();
  }

  async collect(id: string, options: WaitOptions = {}): Promise<CallReport> {
    checkName('id of the call', id);
    return this.calls.background.collect(id, options);
  }

  permissions(): Promise<readonly PermissionChoice[]> {
    return this.calls.permissions.store.choices();
  }

  forgetPermissions(
    which: { readonly server?: string; readonly tool?: string } = {},
  ): Promise<number> {
    return this.calls.permissions.store.forget(which);
  }

  tools(): readonly ExposedTool[] {
    return this.catalogs.tools.all();
  }

  searchTools(query: string, { limit = 10 }: { limit?: number } = {}): readonly ToolMatch[] {
    checkName('query', query);
    checkLimit(limit);
    return this.catalogs.tools.search(query, limit);
  }

  catalog(): CatalogSnapshot {
    return catalogSnapshot(this.tools(), (shown, args, options) => {
      const address = { server: shown.server, tool: shown.tool, shown };
      return this.#told('tools/call', options, (watch) =>
        this.calls.call(address, args, options, watch),
      );
    });
  }

  async callTool(
    name: string,
    args: Readonly<Record<string, unknown>> = {},
    options: CallOptions = {},
  ): Promise<CallReport> {
    checkName('name of the tool', name);
    return this.#told('tools/call', options, async (watch) => {
      const rest = this.hasLooked() ? options : await this.afterFirstPass(options);
      return this.calls.call(this.addressOf(name), args, rest, watch);
    });
  }

  async callServerTool(
    server: string,
    tool: string,
    args: Readonly<Record<string, unknown>> = {},
    options: CallOptions = {},
  ): Promise<CallReport> {
    checkName('name of the server', server);
    checkName('name of the tool', tool);
    return this.#told('tools/call', options, async (watch) => {
      const rest = this.hasLooked() ? options : await this.afterFirstPass(options);
      return this.calls.call({ server, tool }, args, rest, watch);
    });
  }

  resources(): readonly ExposedResource[] {
    return this.catalogs.offers.lists().resources;
  }

  resourceTemplates(): readonly ExposedResourceTemplate[] {
    return this.catalogs.offers.lists().resourceTemplates;
  }

  prompts(): readonly ExposedPrompt[] {
    return this.catalogs.offers.lists().prompts;
  }

  instructions(): readonly ExposedInstructions[] {
    return this.catalogs.offers.lists().instructions;
  }

  profile(server: string): ServerProfile | undefined {
    return this.catalogs.profileOf(server);
  }

  async readResource(
    server: string,
    uri: string,
    options: CallOptions = {},
  ): Promise<RequestReport<ResourceResult>> {
    checkName('name of the server', server);
    checkName('address of the resource', uri);
    return this.#ask(server, { method: 'resources/read', params: { uri } }, options);
  }

  async getPrompt(
    server: string,
    name: string,
    args?: Readonly<Record<string, string>>,
    options: CallOptions = {},
  ): Promise<RequestReport<PromptResult>> {
    checkName('name of the server', server);
    checkName('name of the prompt', name);
    const params = { name, ...(args === undefined ? {} : { arguments: args }) };
    return this.#ask(server, { method: 'prompts/get', params }, options);
  }

  async complete(
    server: string,
    request: CompletionRequest,
    options: CallOptions = {},
  ): Promise<RequestReport<CompletionResult>> {
    checkName('name of the server', server);
    return this.#ask(server, { method: 'completion/complete', params: request }, options);
  }

  subscribe(server: string, uri: string): () => void {
    checkName('name of the server', server);
    checkName('address of the resource', uri);
    this.refuseUnknown(server);
    return this.catalogs.watched.add(server, uri);
  }

  wantLogs(level: LogLevel): () => void {
    checkLogLevel(level);
    return this.catalogs.logs.add(level);
  }

  async #ask<Result>(
    server: string,
    request: SessionRequest,
    options: CallOptions,
  ): Promise<RequestReport<Result>> {
    return this.#told(request.method, options, async (watch) => {
      const rest = this.hasLooked() ? options : await this.afterFirstPass(options);
      return this.calls.ask<Result>(server, request, rest, watch);
    });
  }

  /** Lets whoever wants to hear of calls hear of this one; mostly nobody does. */
  #told<Report extends CallReport | RequestReport<unknown>>(
    method: 'tools/call' | SessionRequest['method'],
    options: CallOptions,
    work: (watch?: CallWatch) => Promise<Report>,
  ): Promise<Report> {
    const { telemetry } = this.calls;
    return telemetry === undefined ? work() : telemetry.during(method, options, work);
  }
}
