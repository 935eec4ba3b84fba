import { Client, type ResponseBody } from '../client';
import type { Context } from '../context';
import { Problem } from '../problem';
import { findToken } from '../settings';
import { version } from '../version';
import { checkTls } from './certificate';
import type { Findings } from './finding';
import { bindsNamesOnly } from './role-names';

/** Checks the secrets service at its address, with the rights of the caller's token. */
export async function checkSecrets({ settings, client }: Context, findings: Findings): Promise<void> {
  await checkTls(findings, settings.address, settings.tls);
  let status: ResponseBody | undefined;
  try {
    status = (await client.get('sys/seal-status', { anonymous: true })).body;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return findings.add('critical', error.message, 'start it, or name another address with --address');
  }
  if (status?.initialized === false) return findings.add('critical', 'it is not initialised', 'keystead operator init');
  const sealed = status?.sealed === true;
  findings.ask('critical', sealed, 'unsealed', 'it is sealed: it answers nothing', 'keystead operator unseal');
  if (sealed) return;
  // Its own version follows the API version for clients.
  const versionText = String(status?.version ?? '');
  const other = /\+keystead\.(.+)$/.exec(versionText)?.[1] ?? versionText;
  findings.ask(
    'notice',
    other !== version(),
    `version ${other}`,
    `it is version ${other}, this program ${version()}`,
    'use the program that came with the service',
  );
  if (findToken(settings) === undefined) {
    return findings.add('unchecked', 'audit devices, tokens, second factors: no token', 'keystead login');
  }
  const unwrapped = new Client({ ...settings, wrapTtl: undefined });
  await checkToken(unwrapped, findings);
  await checkAudit(unwrapped, findings);
  await checkFactors(unwrapped, findings);
  await checkMounts(unwrapped, findings);
  await checkRunRoles(unwrapped, findings);
  await checkNode(unwrapped, findings);
}

async function checkToken(client: Client, findings: Findings): Promise<void> {
  const own = await readOrReport(client, findings, 'auth/token/lookup-self', 'your token');
  const policies = (own?.policies ?? []) as string[];
  if (!own) return;
  findings.ask(
    'warning',
    policies.includes('root'),
    'called without a root token',
    'your token is a root token: it may do everything, and never expires',
    'create accounts for administrators (keystead auth enable), then: keystead token revoke -self',
  );
}

async function checkAudit(client: Client, findings: Findings): Promise<void> {
  const devices = await readOrReport(client, findings, 'sys/audit', 'audit devices');
  if (!devices) return;
  findings.ask(
    'warning',
    Object.values(devices).every((device) => typeof (device as { type?: unknown } | null)?.type !== 'string'),
    'audit devices are enabled',
    'no audit device: there will be no record of who read what',
    'enable one: docs/guides/audit.md',
  );
}

async function checkFactors(client: Client, findings: Findings): Promise<void> {
  const found = await client
    .list('identity/mfa/login-enforcement', { accept: [403, 404] })
    .catch((error: unknown) => giveUp(error, findings, 'second factors'));
  if (found?.status === 403) return unseen(findings, 'second factors', 'identity/mfa/login-enforcement');
  if (!found) return;
  findings.ask(
    'warning',
    found.names.length === 0,
    'logins need second factors',
    'no login needs a second factor, not even those of administrators',
    'create a method and an enforcement: docs/guides/second-factor.md',
  );
}

async function checkMounts(client: Client, findings: Findings): Promise<void> {
  const mounts = await readOrReport(client, findings, 'sys/auth', 'auth methods');
  if (!mounts) return;
  const types = Object.values(mounts).map((mount) => String((mount as { type?: unknown } | null)?.type ?? ''));
  findings.ask(
    'notice',
    !types.some((type) => type !== '' && type !== 'token'),
    'people can log in',
    'people can log in only with tokens that others made',
    'keystead auth enable userpass, or oidc, ldap, approle',
  );
}

/** Roles for runs, which log in with identity tokens. */
async function checkRunRoles(client: Client, findings: Findings): Promise<void> {
  const mounts = await client
    .get('sys/auth', { accept: [403, 404] })
    .catch((error: unknown) => giveUp(error, findings, 'roles for runs'));
  const loose: string[] = [];
  for (const [path, mount] of Object.entries(mounts?.body?.data ?? {})) {
    if ((mount as { type?: unknown } | null)?.type !== 'jwt') continue;
    const { names, status } = await client.list(`auth/${path}role`, { accept: [403, 404] });
    if (status === 403) unseen(findings, 'roles for runs', `auth/${path}role`);
    for (const name of names.slice(0, mostRoles)) {
      const role = await readOrReport(client, findings, `auth/${path}role/${name}`, 'roles for runs');
      if (role && bindsNamesOnly(role)) loose.push(`auth/${path}role/${name}`);
    }
  }
  findings.ask(
    'warning',
    loose.length > 0,
    'roles bind runs by ids',
    `roles bind names of organizations or workspaces only, which may belong to another later: ${loose.join(', ')}`,
    'bind organization_id and workspace_id: docs/guides/run-credentials.md',
  );
}

/** The most roles of one mount to check. */
const mostRoles = 200;

/** The metrics of the node. */
async function checkNode(client: Client, findings: Findings): Promise<void> {
  const options = { query: { format: 'prometheus' }, accept: [403, 404], text: true };
  const answer = await client
    .get('sys/metrics', options)
    .catch((error: unknown) => giveUp(error, findings, 'measurements of the node'));
  if (!answer) return;
  if (answer.status !== 200) return unseen(findings, 'measurements of the node', 'sys/metrics');
  const lines = String(answer.body?.text).split('\n');
  const value = (name: string) => Number(lines.find((line) => line.startsWith(`${name} `))?.slice(name.length + 1));
  findings.ask(
    'critical',
    value('secrets_audit_failures_total') > 0,
    'audit devices accept their lines',
    `audit devices have not accepted ${value('secrets_audit_failures_total')} lines since this node started`,
    'check that the disk is not full and the folder is writable: without a working device, requests are refused',
  );
  const away = lines.filter((line) => /^secrets_audit_(receiver_away|dropped_lines_total)\{.*\} [1-9]/.test(line));
  findings.ask(
    'warning',
    away.length > 0,
    'receivers of audit lines have all of them',
    `receivers of audit lines cannot be reached, or miss some: ${away.join(', ')}`,
    'check that they can be reached; lines wait for them up to a limit: docs/guides/audit.md',
  );
  findings.ask(
    'warning',
    value('secrets_irrevocable') > 0,
    'all leases can be revoked',
    `${value('secrets_irrevocable')} leases could not be revoked: their credentials may still work`,
    'repair the systems behind them; if that is impossible: docs/guides/leases.md',
  );
  findings.ask(
    'warning',
    value('secrets_hears_changes') === 0,
    'the node receives change notices',
    'the node receives no change notices, and answers nothing from its cache',
    'connect it to the database directly, not through a pool in transaction mode',
  );
}

/** Reads a path; reports it if the token may not. */
async function readOrReport(client: Client, findings: Findings, path: string, what: string) {
  const answer = await client
    .get(path, { accept: [403, 404] })
    .catch((error: unknown) => giveUp(error, findings, what));
  if (answer?.status === 403) return void unseen(findings, what, path);
  return (answer?.body?.data ?? undefined) as Record<string, unknown> | undefined;
}

function giveUp(error: unknown, findings: Findings, what: string): undefined {
  if (!(error instanceof Problem)) throw error;
  findings.add('critical', `${what}: ${error.message}`, 'look at the log of the service');
}

function unseen(findings: Findings, what: string, path: string): void {
  findings.add('unchecked', `${what}: your token may not read ${path}`, 'use a token that may');
}
