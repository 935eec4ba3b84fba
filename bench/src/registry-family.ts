import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Setting, scenariosOn } from './family';
import type { Scenario } from './scenario';
import { ask, startWorkspaces } from './service';

/** The tools' requests to the registry during an init. */
const names = [
  'registry: versions of a module',
  'registry: address of a module',
  'registry: archive of a module',
] as const;
const archiveBytes = 16 * 1024;
const berth = '/api/registry/v1/modules/bench/berth/crane';

/** A module with 20 versions, and its archive by a signed link, compared with a bare server that answers as many bytes. */
export async function registryFamily(setting: Setting): Promise<Scenario[]> {
  if (!names.some(setting.isSelected)) return [];
  const { url, pid, token } = await startWorkspaces(setting, 'registry');
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/vnd.api+json' };
  const scenario = scenariosOn({ url, pid }, setting.generator);
  const api = `${url}/api/v2`;
  await ask(`${api}/organizations`, 'POST', headers, {
    data: { type: 'organizations', attributes: { name: 'bench', email: 'bench@example.org' } },
  });
  const attributes = { name: 'berth', provider: 'crane', 'registry-name': 'private' };
  await ask(`${api}/organizations/bench/registry-modules`, 'POST', headers, {
    data: { type: 'registry-modules', attributes },
  });
  const archive = archiveIn(setting.folder);
  for (let patch = 0; patch < 20; patch++) {
    const created = await ask<{ data: { links: { upload: string } } }>(
      `${api}/registry-modules/bench/berth/crane/versions`,
      'POST',
      headers,
      { data: { type: 'registry-module-versions', attributes: { version: `1.0.${patch}` } } },
    );
    const sent = await fetch(reachedAt(url, created.data.links.upload), {
      method: 'PUT',
      headers: { 'Content-Type': 'application/octet-stream' },
      body: new Uint8Array(archive),
    });
    if (!sent.ok) throw new Error(`the upload answered ${sent.status}: ${await sent.text()}`);
  }
  const versions = await (await fetch(`${url}${berth}/versions`, { headers })).arrayBuffer();
  const located = await fetch(`${url}${berth}/1.0.0/download`, { headers });
  const link = new URL(reachedAt(url, located.headers.get('x-terraform-get') ?? ''));
  const [listing, locating, downloading] = names;
  const downloads = Array.from({ length: 20 }, (_, patch) => `${berth}/1.0.${patch}/download`);
  return [
    scenario(listing, { method: 'GET', paths: [`${berth}/versions`], headers }, { bareBytes: versions.byteLength }),
    scenario(locating, { method: 'GET', paths: downloads, headers }),
    scenario(downloading, { method: 'GET', paths: [link.pathname + link.search] }, { bareBytes: archive.length }),
  ];
}

/** A link, at the address where the service is reached here. */
const reachedAt = (url: string, link: string): string => link.replace(/^https?:\/\/[^/]+/, url);

/** An archive that hardly shrinks. */
function archiveIn(folder: string): Buffer {
  const files = path.join(folder, 'berth');
  const archive = path.join(folder, 'berth.tar.gz');
  mkdirSync(files, { recursive: true });
  writeFileSync(path.join(files, 'main.tf'), 'output "x" { value = 1 }\n');
  writeFileSync(path.join(files, 'picture.bin'), randomBytes(archiveBytes));
  execFileSync('tar', ['-czf', archive, '-C', files, '.']);
  return readFileSync(archive);
}
