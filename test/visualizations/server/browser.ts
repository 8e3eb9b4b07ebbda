/** What a browser and a stranger can send, header by header, and what comes back. */

import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { InspectionRecord } from '../../../src/domain/host/inspection.ts';
import type { InspectorServer } from '../../../visualizations/server/inspector-server.ts';

export interface Said {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface Ask {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string;
}

export async function knock(port: number, path: string, ask: Ask = {}): Promise<Said> {
  const asked = open(port, path, ask);
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  let body = '';
  for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) body += chunk;
  return { status: response.statusCode ?? 0, headers: response.headers, body };
}

function open(
  port: number,
  path: string,
  { method = 'GET', headers = {}, body }: Ask,
): ClientRequest {
  const asked = request({
    host: '127.0.0.1',
    port,
    path,
    method,
    headers: headers as Record<string, string>,
    agent: false,
  });
  return asked.end(body);
}

/** Exchanges the token of an address for a secret, as a page does. */
export function enter(address: string, headers: Ask['headers'] = {}): Promise<Said> {
  const { port, origin, hash } = new URL(address);
  const authorization = `Bearer ${hash.replace('#token=', '')}`;
  const sent = { origin, authorization, ...headers };
  return knock(Number(port), '/api/enter', { method: 'POST', headers: sent });
}

/** A browser that opened an address. */
export class Browser {
  readonly port: number;
  readonly authorization: string;

  private constructor(port: number, secret: string) {
    this.port = port;
    this.authorization = `Bearer ${secret}`;
  }

  static of(inspector: InspectorServer): Promise<Browser> {
    return Browser.at(inspector.newAddress());
  }

  /** What its page does with an address. */
  static async at(address: string): Promise<Browser> {
    const { status, body } = await enter(address);
    const { secret = 'none' } = status === 200 ? (JSON.parse(body) as { secret: string }) : {};
    return new Browser(Number(new URL(address).port), secret);
  }

  get(path: string, headers: Ask['headers'] = {}): Promise<Said> {
    return knock(this.port, path, { headers: { authorization: this.authorization, ...headers } });
  }

  async document(path: string): Promise<unknown> {
    return JSON.parse((await this.get(path)).body) as unknown;
  }

  post(path: string, body: string, headers: Ask['headers'] = {}): Promise<Said> {
    return knock(this.port, path, {
      method: 'POST',
      body,
      headers: {
        authorization: this.authorization,
        origin: `http://127.0.0.1:${this.port}`,
        'content-type': 'application/json',
        ...headers,
      },
    });
  }

  remove(path: string): Promise<Said> {
    const { authorization, port } = this;
    const headers = { authorization, origin: `http://127.0.0.1:${port}` };
    return knock(this.port, path, { method: 'DELETE', headers });
  }

  async stream(path = '/api/stream', headers: Ask['headers'] = {}): Promise<EventStream> {
    const asked = open(this.port, path, {
      headers: { authorization: this.authorization, ...headers },
    });
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    return new EventStream(asked, response);
  }
}

export interface StreamEvent {
  readonly id?: string;
  readonly event?: string;
  readonly data?: string;
}

export class EventStream {
  readonly status: number;
  readonly #request: ClientRequest;
  readonly #events: AsyncGenerator<StreamEvent>;

  constructor(asked: ClientRequest, response: IncomingMessage) {
    this.#request = asked;
    this.status = response.statusCode ?? 0;
    this.#events = eventsOf(response);
  }

  /** The next event that says something. */
  async next(): Promise<StreamEvent | undefined> {
    for (;;) {
      const { done, value } = await this.#events.next();
      if (done === true) return undefined;
      if (value.data !== undefined) return value;
    }
  }

  /** Records up to one of this number; a gap among them fails. */
  async upTo(n: number): Promise<readonly InspectionRecord[]> {
    const records: InspectionRecord[] = [];
    while ((records.at(-1)?.n ?? 0) < n) {
      const event = await this.next();
      if (event?.data === undefined || event.event !== undefined)
        throw new Error(`no record came, but ${JSON.stringify(event)}`);
      records.push(JSON.parse(event.data) as InspectionRecord);
    }
    return records;
  }

  close(): void {
    this.#request.destroy();
  }
}

async function* eventsOf(response: IncomingMessage): AsyncGenerator<StreamEvent> {
  let text = '';
  for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) {
    text += chunk;
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = block.split('\n').map((line) => line.split(/: (.*)/su));
      yield Object.fromEntries(fields) as StreamEvent;
    }
  }
}
