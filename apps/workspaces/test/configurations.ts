import { once } from 'node:events';
import { gzipSync } from 'node:zlib';
import request from 'supertest';
import { type Header, pack } from 'tar-stream';
import type { RunJob } from '../src/resources/runs/runs/jobs/job';
import { type Client, ref, resource, type Spoken } from './start-workspaces';

/** A gzip tar of the given entries; a plain name and text is a file. */
export async function archiveOf(
  entries: readonly (readonly [string | ({ name: string } & Partial<Header>), string])[] = [
    ['main.tf', 'output "x" { value = 1 }'],
  ],
): Promise<Buffer> {
  const tar = pack();
  const pieces: Buffer[] = [];
  tar.on('data', (piece) => pieces.push(piece as Buffer));
  for (const [header, text] of entries)
    tar.entry({ mtime: new Date(0), ...(typeof header === 'string' ? { name: header } : header) }, text);
  tar.finalize();
  await once(tar, 'end');
  return gzipSync(Buffer.concat(pieces));
}

const withoutHost = (url: string): string => url.replace(/^https?:\/\/[^/]+/, '');

/** Downloads from a signed link, without a token. */
export function fetchUrl(workspaces: Pick<Spoken, 'server'>, url: string) {
  return request(workspaces.server)
    .get(withoutHost(url))
    .buffer(true)
    .parse((response, done) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('end', () => done(null, Buffer.concat(pieces)));
    });
}

/** The log of a plan or an apply, with the bytes that mark its start and end. */
export async function logOf(
  workspaces: Pick<Spoken, 'server' | 'admin'>,
  { kind, planId, applyId }: Pick<RunJob, 'kind' | 'planId' | 'applyId'>,
): Promise<string> {
  const path = kind === 'apply' ? `applies/${applyId}` : `plans/${planId}`;
  const { attributes } = (await workspaces.admin.get(path).expect(200)).body.data;
  return (await fetchUrl(workspaces, attributes['log-read-url']).expect(200)).body.toString();
}

/** Uploads to a signed link. */
export function putUrl(workspaces: Pick<Spoken, 'server'>, url: string, bytes: Buffer) {
  return request(workspaces.server).put(withoutHost(url)).set('Content-Type', 'application/octet-stream').send(bytes);
}

/** Creates a configuration version; returns the resource. */
export async function announced(client: Client, workspaceId: string, attributes: object = {}) {
  const body = resource('configuration-versions', { 'auto-queue-runs': false, ...attributes });
  return (await client.post(`workspaces/${workspaceId}/configuration-versions`, body).expect(201)).body.data;
}

/** Creates and uploads a configuration; returns its id. */
export async function configured(
  workspaces: Pick<Spoken, 'server' | 'admin'>,
  workspaceId: string,
  attributes: object = {},
  client: Client = workspaces.admin,
): Promise<string> {
  const { id, attributes: shown } = await announced(client, workspaceId, attributes);
  await putUrl(workspaces, shown['upload-url'], await archiveOf()).expect(200);
  return id;
}

/** Creates a run. */
export function startRun(client: Client, workspaceId: string, attributes: object = {}, configuration?: string) {
  const relationships = {
    workspace: ref('workspaces', workspaceId),
    ...(configuration === undefined ? {} : { 'configuration-version': ref('configuration-versions', configuration) }),
  };
  return client.post('runs', resource('runs', attributes, relationships));
}
