import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { expect } from '@jest/globals';
import { readme, tarOf } from '../stand-in-tool';
import { at } from './installation';

const type = 'application/vnd.api+json';
/** Calls the service directly, not through its console; by default as its administrator. */
export async function api<T>(
  method: string,
  path: string,
  body?: object,
  token = at.installation.firstRun().workspaces.token,
) {
  const answer = await fetch(`${at.installation.workspacesUrl}/api/v2/${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': type },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

export interface Made {
  readonly data: { readonly id: string; readonly attributes: Readonly<Record<string, string>> };
  readonly meta?: Readonly<Record<string, string>>;
}
export const of = (kind: string, attributes: object, relationships: object = {}) => ({
  data: { type: kind, attributes, relationships },
});

/** Gives a workspace a configuration, as the tool does before a run. */
export async function upload(workspaceId: string, main: string, token?: string): Promise<void> {
  const version = await api<Made>(
    'POST',
    `workspaces/${workspaceId}/configuration-versions`,
    of('configuration-versions', { 'auto-queue-runs': false }),
    token,
  );
  const url = new URL(version.data.attributes['upload-url']!);
  const put = await fetch(at.installation.workspacesUrl + url.pathname + url.search, {
    method: 'PUT',
    headers: { 'Content-Type': 'application/octet-stream' },
    body: new Uint8Array(gzipSync(tarOf({ 'main.tf': main, 'README.md': readme }))),
  });
  expect(put.status).toBe(200);
}

/** Pushes a state of one resource, as the tool does after an apply. The workspace has to be locked. */
export async function pushState(
  workspaceId: string,
  serial: number,
  more: Readonly<Record<string, { value: unknown; type: unknown }>> = {},
): Promise<void> {
  const instances = [{ schema_version: 0, attributes: { height: serial } }];
  const provider = 'provider["registry.terraform.io/made/up"]';
  const resources = [{ mode: 'managed', type: 'stone', name: 'wall', provider, instances }];
  const outputs = { height: { value: serial, type: 'number' }, ...more };
  const text = JSON.stringify({ version: 4, terraform_version: '1.11.4', serial, lineage: 'kept', outputs, resources });
  const attributes = {
    serial,
    lineage: 'kept',
    md5: createHash('md5').update(text).digest('hex'),
    state: Buffer.from(text).toString('base64'),
  };
  await api('POST', `workspaces/${workspaceId}/state-versions`, of('state-versions', attributes));
}
