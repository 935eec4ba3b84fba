import { setTimeout as sleep } from 'node:timers/promises';
import { ask } from './ask';
import { type Furnished, furnish, type Urls } from './installation';
import { kept } from './make-secrets';
import type { Version } from './programs';
import { askAs, findQuestions, linksIn, type Question, withoutVarying } from './questions';
import type { Release } from './release';
import { readTables } from './tables';

/** Tables that stay empty, and why. */
const empty: Readonly<Record<string, string>> = {
  'secrets.attempt': 'guesses are forgotten within the hour',
  'secrets.change': 'notices between nodes',
  'secrets.console_session': 'lives for hours',
  'secrets.mfa_pending': 'waits for five minutes',
  'workspaces.app_manifest': 'lives for an hour',
  'workspaces.assessment_result': 'only the hosted edition assesses',
  'workspaces.console_session': 'lives for hours',
  'workspaces.mail_trial': 'counts for an hour',
  'workspaces.external_identity': 'no person comes from a provider while a release is recorded',
  ...Object.fromEntries(
    [
      'github_app',
      'github_app_installation',
      'ingress_attributes',
      'vcs_comment',
      'vcs_delivery',
      'vcs_head',
      'vcs_repository',
    ].map((table) => [`workspaces.${table}`, 'no Git host is there while a release is recorded']),
  ),
  'workspaces.forwarded_request': 'lives for seconds',
  'workspaces.idempotency_key': 'is kept for a day',
  'workspaces.login_code': 'lives for minutes',
  'workspaces.notification_delivery': 'no notification is sent while a release is recorded',
  'workspaces.oauth_leaving': 'lives for minutes',
  'workspaces.object_removal': 'belongs to an object store',
  'workspaces.pending_sign_in': 'lives for minutes',
  'workspaces.plan_export': 'lives for an hour',
  'workspaces.run_credential': 'lives as long as a job',
  'workspaces.vcs_passing': 'lives until the report to a host was sent',
  'workspaces.sign_in_attempt': 'guesses are forgotten within the hour',
};

/** Operations that are not called, and why. */
const silent: readonly (readonly [RegExp, string])[] = [
  [/^\/sys\/(rekey|rotate\/root)\//, 'the seal key has no shares'],
  [/^\/sys\/(rekey-recovery-key|rotate\/recovery)\/(backup|update)$/, 'no share was given'],
  [/^\/sys\/(leases\/jobs|remount\/status)\/\{id\}$/, 'named only by the answer that began the work'],
  [/^\/sys\/wrapping\/lookup$/, 'is asked with the wrapping token'],
  [/^\/api\/v2\/(ping|session)$/, 'has nothing stored to tell a token'],
  [/^\/sys\/loggers\//, 'is how a process logs until its restart'],
  [/^\/api\/meta\/ip-ranges$/, 'is configured'],
  [/^\/api\/v2\/organization\/audit-trail$/, 'is read with a token for nothing else'],
  [/^\/api\/v2\/plan-exports\//, 'lives for an hour'],
  [/^\/github-app\/\{manifest_id\}/, 'leads a browser on, once'],
  [/^\/auth\/(\{oauth_client_id\}|[\w-]+\/oidc\/callback)/, 'leads a browser on'],
  [/^\/api\/v2\/agents\/\{agent_id\}$/, 'of an agent that is heard of'],
  [/^\/api\/v2\/github-app\/installation\//, 'of what an app is installed on'],
  [/\/ingress-attributes$/, 'of configurations that a provider sends'],
];

/**
 * Creates and reads everything, twice, and dumps the databases; also lists operations that were not reached but should
 * be.
 */
export async function recording(
  version: Version,
  urls: Urls,
): Promise<Pick<Release, 'credentials' | 'databases' | 'questions'> & { gaps: string[] }> {
  const furnished = await furnish(version, urls);
  try {
    const { installation, credentials } = furnished;
    const { questions, unheard } = await findQuestions(installation, credentials);
    await installation.restart();
    const again: Question[] = [];
    for (const one of questions)
      again.push({ ...one, body: withoutVarying(one.body, await askedAgain(furnished, one)) });
    await leaveCallUnderWay(furnished);
    const databases = { secrets: await readTables(urls.secrets), workspaces: await readTables(urls.workspaces) };
    const gaps = unheard.filter((pattern) => !silent.some(([which]) => which.test(pattern)));
    for (const [name, { rows }] of Object.entries(databases)) {
      for (const [table, found] of Object.entries(rows)) {
        if (found.length === 0 && !(`${name}.${table}` in empty)) gaps.push(`the table ${name}.${table} is empty`);
      }
    }
    return { credentials, databases, questions: again, gaps };
  } finally {
    await furnished.end();
  }
}

async function askedAgain({ installation, credentials }: Furnished, one: Question): Promise<unknown> {
  const owner = one.service === 'secrets' ? credentials.secrets.root : credentials.workspaces.admin.token;
  const { body } = await askAs(installation, one, owner);
  if (one.link === undefined) return body;
  const [, path] = linksIn(body).find(([way]) => way === one.link) ?? [];
  return path === undefined ? undefined : (await askAs(installation, { ...one, path }, undefined)).body;
}

/** Kills the service while it waits for an outside system, so that it leaves the intent to undo that. */
async function leaveCallUnderWay({ installation, credentials, scheduler }: Furnished): Promise<void> {
  let waits = false;
  scheduler.interfere = (method) => {
    waits ||= method === 'PUT';
    return method === 'PUT';
  };
  const headers = { 'X-Service-Token': credentials.secrets.root };
  const path = `/v1/${kept}-jobs/creds/${kept}`;
  const lost = ask(installation.secrets.address, { method: 'GET', path, headers }).catch(() => undefined);
  while (!waits) await sleep(20);
  await installation.stop('SIGKILL');
  await lost;
}
