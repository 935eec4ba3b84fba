import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { benchRoot, type Child, startChild } from './child';
import { type Setting, scenariosOn } from './family';
import type { Scenario } from './scenario';
import { ask, type Place, startServiceProcess } from './service';

const names = ['secrets: login with a directory token', 'secrets: scheduler credentials'];

/** The addresses of the stand-ins of outside systems, and credentials for them. */
interface Outside {
  readonly scheduler: string;
  readonly management: string;
  readonly directory: string;
  readonly tenant: string;
  readonly resource: string;
  readonly jwt: string;
}

/** A service and its outside systems, configured. */
export interface OutsideService {
  readonly url: string;
  readonly pid: number;
  readonly root: string;
  readonly outside: Outside;
  readonly standIns: Child;
}

/**
 * Starts stand-ins of outside systems and a secrets service that uses them; the scheduler can delay its answers by
 * `thinkMs`.
 */
export async function startOutside(setting: Place & Pick<Setting, 'folder'>, thinkMs = 0): Promise<OutsideService> {
  const standIns = await startChild(path.join(benchRoot, 'servers', 'outside.ts'), [String(thinkMs)]);
  setting.atEnd(() => standIns.stop());
  const outside = JSON.parse(standIns.line.slice('ready '.length)) as Outside;
  const env = {
    SECRETS_SEAL_KEY: randomBytes(32).toString('hex'),
    SECRETS_AUDIT_FILE: path.join(setting.folder, 'outside-audit.log'),
    CLOUDONE_AUTHORITY_HOST: outside.directory,
  };
  const { url, pid } = await startServiceProcess('secrets', env, setting, 'outside');
  const init = { recovery_shares: 1, recovery_threshold: 1 };
  const { root_token: root } = await ask<{ root_token: string }>(`${url}/v1/sys/init`, 'PUT', {}, init);
  const write = (at: string, body: object) => ask(`${url}/v1/${at}`, 'POST', { 'X-Service-Token': root }, body);
  await write('scheduler/config/access', { address: outside.scheduler, token: outside.management });
  await write('scheduler/role/bench', { policies: 'read' });
  await write('auth/cloudone/config', { tenant_id: outside.tenant, resource: outside.resource });
  await write('auth/cloudone/role/bench', { bound_service_principal_ids: 'oid-1', token_ttl: '1h' });
  return { url, pid, root, outside, standIns };
}

/** Logging in with a token of a directory whose keys are known, and credentials of a scheduler that answers at once. */
export async function outsideFamily(setting: Setting): Promise<Scenario[]> {
  if (!names.some(setting.isSelected)) return [];
  const { url, pid, root, outside } = await startOutside(setting);
  const scenario = scenariosOn({ url, pid }, setting.generator);
  const login = {
    role: 'bench',
    jwt: outside.jwt,
    subscription_id: '00000000-0000-4000-8000-000000000000',
    resource_group_name: 'bench',
  };
  const headers = { 'Content-Type': 'application/json' };
  return [
    scenario(
      names[0]!,
      { method: 'POST', paths: ['/v1/auth/cloudone/login'], headers, body: JSON.stringify(login) },
      { ceiling: 'upsert' },
    ),
    scenario(
      names[1]!,
      { method: 'GET', paths: ['/v1/scheduler/creds/bench'], headers: { ...headers, 'X-Service-Token': root } },
      { ceiling: 'upsert' },
    ),
  ];
}
