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
  findings.check('critical', sealed, 'unsealed', 'it is sealed, so it serves no requests', 'keystead operator unseal');
  if (sealed) return;
  // The version string is the API version that clients expect, then `+keystead.` and our own version.
  const versionText = String(status?.version ?? '');
  const other = /\+keystead\.(.+)$/.exec(versionText)?.[1] ?? versionText;
  findings.check(
    'notice',
    other !== version(),
    `version ${other}`,
    `it is version ${other}, this program ${version()}`,
    'use the program that came with the service',
  );
  if (findToken(settings) === undefined) {
    return findings.add(
      'unchecked',
      'not logged in, so audit devices, tokens and MFA were not checked',
      'keystead login',
    );
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
  findings.check(
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
  findings.check(
    'warning',
    Object.values(devices).every((device) => typeof (device as { type?: unknown } | null)?.type !== 'string'),
    'audit devices are enabled',
    'no audit device: nothing records who read which secret',
    'enable one: docs/guides/audit.md',
  );
}

async function checkFactors(client: Client, findings: Findings): Promise<void> {
  const found = await client
    .list('identity/mfa/login-enforcement', { accept: [403, 404] })
    .catch((error: unknown) => giveUp(error, findings, 'second factors'));
  if (found?.status === 403) return unseen(findings, 'second factors', 'identity/mfa/login-enforcement');
  if (!found) return;
  findings.check(
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
  findings.check(
    'notice',
    !types.some((type) => type !== '' && type !== 'token'),
    'people can log in',
    'people can log in only with tokens issued to them by someone else',
    'keystead auth enable userpass, or oidc, ldap, approle',
  );
}

/** Checks the JWT roles that runs use to log in with their identity tokens. */
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
  findings.check(
    'warning',
    loose.length > 0,
    'roles bind runs by ids',
    `these roles bind only organization or workspace names, which can later be reused by someone else: ${loose.join(', ')}`,
    'bind organization_id and workspace_id: docs/guides/run-credentials.md',
  );
}

/** How many roles to check per mount, at most. */
const mostRoles = 200;

/** Checks the metrics of the node. */
async function checkNode(client: Client, findings: Findings): Promise<void> {
  const options = { query: { format: 'prometheus' }, accept: [403, 404], text: true };
  const answer = await client
    .get('sys/metrics', options)
    .catch((error: unknown) => giveUp(error, findings, 'node metrics'));
  if (!answer) return;
  if (answer.status !== 200) return unseen(findings, 'node metrics', 'sys/metrics');
  const lines = String(answer.body?.text).split('\n');
  const value = (name: string) => Number(lines.find((line) => line.startsWith(`${name} `))?.slice(name.length + 1));
  findings.check(
    'critical',
    value('secrets_audit_failures_total') > 0,
    'audit devices are writing their entries',
    `audit devices failed to write ${value('secrets_audit_failures_total')} entries since this node started`,
    'check that the disk is not full and the folder is writable: without a working device, requests are refused',
  );
  const away = lines.filter((line) => /^secrets_audit_(receiver_away|dropped_lines_total)\{.*\} [1-9]/.test(line));
  findings.check(
    'warning',
    away.length > 0,
    'audit receivers are up to date',
    `audit receivers are unreachable or have missed entries: ${away.join(', ')}`,
    'check that they can be reached; entries are queued for them, up to a limit: docs/guides/audit.md',
  );
  findings.check(
    'warning',
    value('secrets_irrevocable') > 0,
    'all leases can be revoked',
    `${value('secrets_irrevocable')} leases could not be revoked: their credentials may still work`,
    'repair the systems behind them; if that is impossible: docs/guides/leases.md',
  );
  findings.check(
    'warning',
    value('secrets_hears_changes') === 0,
    'the node receives change notifications',
    'the node receives no change notifications, so it cannot use its cache',
    'connect it to the database directly, not through a pool in transaction mode',
  );
}

/** Reads a path; adds an `unchecked` finding if the token is not allowed to. */
async function readOrReport(client: Client, findings: Findings, path: string, what: string) {
  const answer = await client
    .get(path, { accept: [403, 404] })
    .catch((error: unknown) => giveUp(error, findings, what));
  if (answer?.status === 403) return void unseen(findings, what, path);
  return (answer?.body?.data ?? undefined) as Record<string, unknown> | undefined;
}

function giveUp(error: unknown, findings: Findings, what: string): undefined {
  if (!(error instanceof Problem)) throw error;
  findings.add('critical', `${what}: ${error.message}`, 'check the service log');
}

function unseen(findings: Findings, what: string, path: string): void {
  findings.add('unchecked', `${what}: your token may not read ${path}`, 'use a token that can read it');
}
