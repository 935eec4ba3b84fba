import { request } from 'node:http';
import { Readable } from 'node:stream';
import type { MadeState } from './made-state';
import { ask } from './service';

type Headers = Record<string, string>;
interface Version {
  data: { id: string; attributes: Record<string, string> };
}

/** A workspace of the service under test, used as the tool does. */
export class StateClient {
  private constructor(
    private readonly url: string,
    private readonly headers: Headers,
    readonly id: string,
  ) {}

  /** Makes an organization with workspaces, all locked. */
  static async prepare(url: string, token: string, count: number): Promise<StateClient[]> {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/vnd.api+json' };
    const name = `states-${Date.now()}`;
    await ask(`${url}/api/v2/organizations`, 'POST', headers, {
      data: { type: 'organizations', attributes: { name, email: 'bench@example.org' } },
    });
    const clients: StateClient[] = [];
    for (let i = 0; i < count; i++) {
      const path = `${url}/api/v2/organizations/${name}/workspaces`;
      const body = { data: { type: 'workspaces', attributes: { name: `w-${i}` } } };
      const { data } = await ask<{ data: { id: string } }>(path, 'POST', headers, body);
      const client = new StateClient(`${url}/api/v2`, headers, data.id);
      await client.act('lock');
      clients.push(client);
    }
    return clients;
  }

  async act(name: string): Promise<void> {
    await ask(`${this.url}/workspaces/${this.id}/actions/${name}`, 'POST', this.headers, {});
  }

  /** Announces a state, and answers its links. */
  async announce(state: MadeState, serial: number): Promise<{ raw: string; json: string; id: string }> {
    const { data } = await ask<Version>(`${this.url}/workspaces/${this.id}/state-versions`, 'POST', this.headers, {
      data: { type: 'state-versions', attributes: { serial, md5: state.md5 } },
    });
    const { attributes } = data;
    return {
      id: data.id,
      raw: attributes['hosted-state-upload-url']!,
      json: attributes['hosted-json-state-upload-url']!,
    };
  }

  /** Sends bytes to an upload link; answers the status. */
  put(link: string, state: MadeState): Promise<number> {
    return new Promise((resolve, reject) => {
      const headers = { 'Content-Type': 'application/octet-stream', 'Content-Length': state.bytes };
      const sending = request(link, { method: 'PUT', headers }, (answer) => {
        answer.resume().on('end', () => resolve(answer.statusCode ?? 0));
      });
      sending.on('error', reject);
      Readable.from(state.pieces()).pipe(sending);
    });
  }

  /** Downloads the current state; answers how many bytes came. */
  async download(): Promise<number> {
    const path = `${this.url}/workspaces/${this.id}/current-state-version`;
    const { data } = await ask<Version>(path, 'GET', this.headers);
    const answer = await fetch(data.attributes['hosted-state-download-url']!);
    let bytes = 0;
    for await (const piece of answer.body ?? []) bytes += (piece as Uint8Array).length;
    return bytes;
  }

  /** Creates a state version with its content in base64. */
  async createInline(state: MadeState, serial: number): Promise<void> {
    const content = Buffer.concat([...state.pieces()]).toString('base64');
    await ask(`${this.url}/workspaces/${this.id}/state-versions`, 'POST', this.headers, {
      data: { type: 'state-versions', attributes: { serial, md5: state.md5, state: content } },
    });
  }
}
