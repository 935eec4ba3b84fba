import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type EmbeddedServer, ensureDatabase } from '@keystead/postgres';
import { benchRoot, startChild } from '../src/child';
import { ask, times } from '../src/service';
import { type NodeSetting, type ScaleNode, startNode } from './node';
import type { ScaleOptions } from './options';

/** A database of the secrets service, initialised, with the token that the load is sent with. */
export interface Installation extends NodeSetting {
  readonly root: string;
  readonly token: string;
}

export const ENTRIES = 200;
const policy = 'path "auth/token/create" { capabilities = ["update"] }';

/** Creates an installation, or reuses the one in the folder. */
export async function installation(
  name: string,
  { folder, cores }: { folder: string; cores: string | undefined },
  postgres: EmbeddedServer,
): Promise<Installation & { readonly isNew: boolean }> {
  const databaseUrl = postgres.url(name);
  const file = path.join(folder, `${name}.json`);
  if (existsSync(file)) {
    const stored = JSON.parse(readFileSync(file, 'utf8')) as Pick<Installation, 'root' | 'token' | 'sealKey'>;
    return { ...stored, databaseUrl, folder, cores, isNew: false };
  }
  await ensureDatabase(databaseUrl);
  const sealKey = randomBytes(32).toString('hex');
  const node = await startNode({ databaseUrl, sealKey, folder, cores });
  const secrets = { sealKey, ...(await initialise(node)) };
  await node.stop();
  writeFileSync(file, JSON.stringify(secrets));
  return { ...secrets, databaseUrl, folder, cores, isNew: true };
}

/** Initialises a secrets service and fills a cubbyhole; returns the first token, and the token of the cubbyhole. */
export async function initialise({ url }: Pick<ScaleNode, 'url'>): Promise<{ root: string; token: string }> {
  const shares = { recovery_shares: 1, recovery_threshold: 1 };
  const { root_token: root } = await ask<{ root_token: string }>(`${url}/v1/sys/init`, 'PUT', {}, shares);
  const admin = { 'X-Service-Token': root };
  await ask(`${url}/v1/sys/policies/acl/bench`, 'POST', admin, { policy });
  const { auth } = await ask<{ auth: { client_token: string } }>(`${url}/v1/auth/token/create`, 'POST', admin, {
    policies: ['bench'],
    ttl: '720h',
  });
  const own = { 'X-Service-Token': auth.client_token };
  const value = { username: 'app', password: 'correct horse battery staple' };
  await times(ENTRIES, (i) => ask(`${url}/v1/cubbyhole/bench/${i}`, 'POST', own, value));
  return { root, token: auth.client_token };
}

/** Runs the seed on an installation and returns how long it took, in seconds. */
export async function seed(
  { databaseUrl, sealKey, token }: Installation,
  { tokens, leases, keys }: Pick<ScaleOptions, 'tokens' | 'leases' | 'keys'>,
): Promise<number> {
  const startedAtMs = performance.now();
  const counts = ['--tokens', tokens, '--leases', leases, '--keys', keys].map(String);
  const child = await startChild(path.join(benchRoot, 'seed', 'main.ts'), [...counts, '--token', token], {
    ready: /^all:/,
    env: { SECRETS_DATABASE_URL: databaseUrl, SECRETS_SEAL_KEY: sealKey },
    nodeArguments: ['--conditions=source'],
    patienceSeconds: 1800,
  });
  await child.stop();
  return (performance.now() - startedAtMs) / 1000;
}
