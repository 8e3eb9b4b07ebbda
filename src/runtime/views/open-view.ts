/** A view in use: what its settings let its callers see and call now. */

import { grouped } from '../../domain/data/grouped.ts';
import type { NamingPolicy } from '../../domain/policy.ts';
import type { SessionRequest } from '../../domain/session.ts';
import type { ViewSettings } from '../../domain/settings.ts';
import type { ExposedTool } from '../../domain/tool.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { defaultPolicy } from '../../policies/presets/default-policy.ts';
import { toolAliasesOf } from '../../policies/tools/name.ts';
import { indexTools, searchTools } from '../../policies/tools/search.ts';
import { showsPrompt, showsResource, showsServer } from '../../policies/views/shown-items.ts';
import { type ViewTool, viewTools } from '../../policies/views/view-tools.ts';
import type { CallView } from '../calls/call.ts';
import { addressOf } from '../calls/tool-address.ts';
import type { OfferList } from '../catalog/offer-list.ts';
import type { ToolList } from '../catalog/tool-list.ts';
import type { ToolAddress, ToolNames } from '../catalog/tool-names.ts';
import type { DesiredBook } from '../desired/book.ts';
import { unknownOffer, unknownServer } from '../errors/refused.ts';
import type { StatusBoard } from '../status/board.ts';

interface OpenViewPorts {
  readonly book: DesiredBook;
  readonly board: Pick<StatusBoard, 'status' | 'statuses'>;
  readonly catalogs: { readonly tools: ToolList; readonly offers: OfferList };
}

type Offers = ReturnType<OfferList['lists']>;

export class OpenView implements CallView {
  readonly name: string;
  readonly #template: string | undefined;
  readonly #ports: OpenViewPorts;
  readonly #toolsOf = remembered((view, tools: readonly ExposedTool[]) =>
    viewToolNames(view ? viewTools(view, tools, this.#namingOf) : [], this.#namingOf),
  );
  readonly #listsOf = remembered(
    (view, all: Offers): Offers => ({
      resources: all.resources.filter((it) => showsResource(view, it.server, it.uri)),
      resourceTemplates: all.resourceTemplates.filter((it) =>
        showsResource(view, it.server, it.uriTemplate),
      ),
      prompts: all.prompts.filter((it) => showsPrompt(view, it.server, it.name)),
      instructions: all.instructions.filter((it) => showsServer(view, it.server)),
    }),
  );

  constructor(name: string, template: string | undefined, ports: OpenViewPorts) {
    this.name = name;
    this.#template = template;
    this.#ports = ports;
  }

  /** Undefined if the settings have no such view, or have not been read. */
  get settings(): ViewSettings | undefined {
    return this.#ports.book.settings?.views?.find(({ name }) => name === this.name);
  }

  get tools(): ViewToolNames {
    return this.#toolsOf(this.settings, this.#ports.catalogs.tools.all());
  }

  lists(): Offers {
    return this.#listsOf(this.settings, this.#ports.catalogs.offers.lists());
  }

  readonly shows = (server: string): boolean => showsServer(this.settings, server);

  readonly refuseServer = (server: string): void => {
    this.#refuseWithout();
    if (this.shows(server) && this.#ports.board.status(server) !== undefined) return;
    throw unknownServer(server, this.#statuses(), [], []);
  };

  readonly refuseRequest = (server: string, { kind, params }: SessionRequest): void => {
    this.refuseServer(server);
    const about = kind === 'complete' ? params.ref : params;
    if ('uri' in about) {
      if (!showsResource(this.settings, server, about.uri))
        throw unknownOffer(server, 'resource', about.uri);
    } else if (!showsPrompt(this.settings, server, about.name))
      throw unknownOffer(server, 'prompt', about.name);
  };

  /** Finds the server of an exposed name, even while its tools are not known yet. */
  addressOf(exposedName: string): ToolAddress {
    this.#refuseWithout();
    const board = { statuses: () => this.#statuses() };
    return addressOf(exposedName, this.tools, board, this.#namingOf, () => []);
  }

  readonly #namingOf = (server: string): NamingPolicy => {
    const template = this.#template;
    const named =
      template === undefined
        ? this.#ports.book.policyOf(server).naming
        : { ...defaultPolicy.naming, template };
    // Parsed, so no field is undefined.
    return { ...named, ...(this.settings?.naming as Partial<NamingPolicy> | undefined) };
  };

  #statuses() {
    return this.#ports.board.statuses().filter(({ name }) => this.shows(name));
  }

  #refuseWithout(): void {
    if (this.settings !== undefined) return;
    const message = `The view ${this.name} is not in the settings. Open another one.`;
    throw new TroupeError('NOT_ALLOWED', message);
  }
}

/** Remembers the last value that was made, and from what. */
function remembered<Source extends object, Value>(
  make: (view: ViewSettings | undefined, source: Source) => Value,
): (view: ViewSettings | undefined, source: Source) => Value {
  let last: { view: ViewSettings | undefined; source: Source; value: Value } | undefined;
  return (view, source) => {
    if (last === undefined || last.view !== view || last.source !== source)
      last = { view, source, value: make(view, source) };
    return last.value;
  };
}

type ViewToolNames = ReturnType<typeof viewToolNames>;

/** @param namingOf - how the view names the tools of a server */
function viewToolNames(tools: readonly ViewTool[], namingOf: (server: string) => NamingPolicy) {
  const all = Object.freeze(tools.map(({ shown }) => Object.freeze(shown)));
  const byName = new Map(all.map((tool) => [tool.name, tool]));
  const byServer = grouped(all.map((tool) => [tool.server, tool]));
  const wholes = new Map(tools.map(({ shown, whole }) => [shown, whole]));
  const of = (server: string): readonly ExposedTool[] => byServer.get(server) ?? [];
  const wholeOf = (shown: ExposedTool): ExposedTool => wholes.get(shown) ?? shown;
  return {
    all: () => all,
    of,
    named: (exposedName) => byName.get(exposedName),
    aliased: (name) =>
      all.filter(({ server, tool }) =>
        toolAliasesOf(server, tool, namingOf(server)).includes(name),
      ),
    // The reason why a tool is not shown would reveal that it exists.
    withheld: () => undefined,
    wholeOf,
    ownName: (address) => {
      const shown =
        'tool' in address
          ? of(address.server).find(({ tool }) => tool === address.tool)
          : byName.get(address.exposedName);
      return shown && wholeOf(shown).tool;
    },
    shownName: (server, ownName) =>
      of(server).find((shown) => wholeOf(shown).tool === ownName)?.tool ?? ownName,
    search: (query: string, limit: number) =>
      searchTools(indexTools(all.filter(({ appOnly }) => appOnly !== true)), query, limit),
  } satisfies ToolNames & Readonly<Record<'search', unknown>>;
}
