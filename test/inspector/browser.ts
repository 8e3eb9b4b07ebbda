/** What a browser and a stranger can send, header by header, and what comes back. */

import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { InspectionRecord } from '../../src/domain/inspection.ts';
import type { InspectorServer } from '../../src/inspector/inspector-server.ts';

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

/** A browser that opened an address. */
export class Browser {
  readonly port: number;
  readonly cookie: string;

  private constructor(port: number, cookie: string) {
    this.port = port;
    this.cookie = cookie;
  }

  static async of(inspector: InspectorServer): Promise<Browser> {
    const { pathname, search } = new URL(inspector.newAddress());
    const { headers } = await knock(inspector.port, pathname + search);
    return new Browser(inspector.port, headers['set-cookie']?.[0]?.split(';')[0] ?? '');
  }

  get(path: string, headers: Ask['headers'] = {}): Promise<Said> {
    return knock(this.port, path, { headers: { cookie: this.cookie, ...headers } });
  }

  async document(path: string): Promise<unknown> {
    return JSON.parse((await this.get(path)).body) as unknown;
  }

  post(path: string, body: string, headers: Ask['headers'] = {}): Promise<Said> {
    return knock(this.port, path, {
      method: 'POST',
      body,
      headers: {
        cookie: this.cookie,
        origin: `http://127.0.0.1:${this.port}`,
        'content-type': 'application/json',
        ...headers,
      },
    });
  }

  remove(path: string): Promise<Said> {
    const headers = { cookie: this.cookie, origin: `http://127.0.0.1:${this.port}` };
    return knock(this.port, path, { method: 'DELETE', headers });
  }

  async stream(path = '/api/stream', headers: Ask['headers'] = {}): Promise<EventStream> {
    const asked = open(this.port, path, { headers: { cookie: this.cookie, ...headers } });
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
