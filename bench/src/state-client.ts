import { type Agent, type OutgoingHttpHeaders, request } from 'node:http';
import { Readable } from 'node:stream';
import type { MadeState } from './made-state';

interface Version {
  data: { id: string; attributes: Record<string, string> };
}
interface Answer {
  status: number;
  bytes: number;
  body: Buffer;
}

/** A workspace of the service under test, used as the tool does. */
export class StateClient {
  private constructor(
    private readonly origin: string,
    private readonly token: string,
    private readonly agent: Agent | undefined,
    private readonly organization: string,
    private readonly name: string,
    private readonly id: string,
  ) {}

  /** Makes an organization with workspaces, all locked. */
  static async prepare(origin: string, token: string, count: number, agent?: Agent): Promise<StateClient[]> {
    const organization = `states-${Date.now()}`;
    const first = new StateClient(origin, token, agent, organization, '', '');
    await first.ask('POST', 'organizations', {
      data: { type: 'organizations', attributes: { name: organization, email: 'bench@example.org' } },
    });
    const clients: StateClient[] = [];
    for (let i = 0; i < count; i++) {
      const body = { data: { type: 'workspaces', attributes: { name: `w-${i}` } } };
      const { data } = await first.ask<Version>('POST', `organizations/${organization}/workspaces`, body);
      const client = new StateClient(origin, token, agent, organization, `w-${i}`, data.id);
      await client.act('lock');
      clients.push(client);
    }
    return clients;
  }

  async act(name: string): Promise<void> {
    await this.ask('POST', `workspaces/${this.id}/actions/${name}`, {});
  }

  /** Reads the workspace itself. */
  async show(): Promise<void> {
    await this.ask('GET', `workspaces/${this.id}`);
  }

  /** Creates a state version, and returns its upload links. */
  async announce(state: MadeState, serial: number): Promise<{ raw: string; json: string; id: string }> {
    const { data } = await this.ask<Version>('POST', `workspaces/${this.id}/state-versions`, {
      data: { type: 'state-versions', attributes: { serial, md5: state.md5, force: true } },
    });
    const { attributes } = data;
    return {
      id: data.id,
      raw: attributes['hosted-state-upload-url']!,
      json: attributes['hosted-json-state-upload-url']!,
    };
  }

  /** Sends bytes to an upload link; returns the status. */
  async put(link: string, state: MadeState): Promise<number> {
    const headers = { 'Content-Type': 'application/octet-stream', 'Content-Length': state.bytes };
    return (await this.send('PUT', link, headers, state.pieces())).status;
  }

  /** Downloads the current state; returns the number of bytes. */
  async download(): Promise<number> {
    const { data } = await this.ask<Version>('GET', `workspaces/${this.id}/current-state-version`);
    return (await this.send('GET', data.attributes['hosted-state-download-url']!, {})).bytes;
  }

  /** Creates a state version with its content in base64. */
  async createInline(state: MadeState, serial: number): Promise<void> {
    const content = Buffer.concat([...state.pieces()]).toString('base64');
    await this.ask('POST', `workspaces/${this.id}/state-versions`, {
      data: { type: 'state-versions', attributes: { serial, md5: state.md5, state: content } },
    });
  }

  /** Rolls back to the current state, as a new version. */
  async rollback(): Promise<void> {
    const { data } = await this.ask<Version>('GET', `workspaces/${this.id}/current-state-version`);
    const earlier = { data: { type: 'state-versions', id: data.id } };
    await this.ask('PATCH', `workspaces/${this.id}/state-versions`, {
      data: { type: 'state-versions', relationships: { 'rollback-state-version': earlier } },
    });
  }

  /** Uploads a state with a wrong MD5, which is refused, and promotes it from quarantine. */
  async promoteRefused(state: MadeState, serial: number): Promise<void> {
    const { raw } = await this.announce({ ...state, md5: '0'.repeat(32) }, serial);
    await this.put(raw, state);
    const { data } = await this.ask<{ data: Version['data'][] }>('GET', `workspaces/${this.id}/quarantined-states`);
    await this.ask('POST', `quarantined-states/${data[0]!.id}/actions/promote`, {});
  }

  /** Sends the requests that the tool sends during a plan, in the same order. */
  async plan(): Promise<void> {
    const workspace = `organizations/${this.organization}/workspaces/${this.name}`;
    await this.ask('GET', 'ping');
    await this.ask('GET', `organizations/${this.organization}/entitlement-set`);
    await this.ask('GET', workspace);
    await this.ask('GET', workspace);
    await this.act('lock');
    await this.download();
    await this.act('unlock');
  }

  private async ask<T>(method: string, path: string, body?: unknown): Promise<T> {
    const headers = { Authorization: `Bearer ${this.token}`, 'Content-Type': 'application/vnd.api+json' };
    const sent = body === undefined ? undefined : [Buffer.from(JSON.stringify(body))];
    const length = sent ? { 'Content-Length': sent[0]!.length } : {};
    const answer = await this.send(method, `${this.origin}/api/v2/${path}`, { ...headers, ...length }, sent);
    const text = answer.body.toString('utf8');
    if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${text.slice(0, 500)}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  private send(method: string, url: string, headers: OutgoingHttpHeaders, pieces?: Iterable<Buffer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const sending = request(url, { method, headers, agent: this.agent }, (answer) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        answer.on('data', (piece: Buffer) => {
          bytes += piece.length;
          // Only the length of a download matters.
          if (!url.includes('/content/')) chunks.push(piece);
        });
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, bytes, body: Buffer.concat(chunks) }));
        answer.on('error', reject);
      });
      sending.on('error', reject);
      if (pieces) Readable.from(pieces).pipe(sending);
      else sending.end();
    });
  }
}
