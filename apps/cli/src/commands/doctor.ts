import type { ServiceName } from '../backup/service-database';
import { Client } from '../client';
import type { CommandSpec } from '../command';
import type { Context } from '../context';
import { Findings, inOrder } from '../doctor/finding';
import { checkSecrets } from '../doctor/secrets';
import { checkWorkspaces, workspacesAddress } from '../doctor/workspaces';
import { exitCodes } from '../problem';

interface DoctorFlags {
  data?: string;
}

/** `doctor`: finds problems of an installation. */
export const doctorCommands: readonly CommandSpec[] = [
  {
    name: 'doctor',
    help: 'Find the problems of this installation, the most severe first, and how to fix each. Changes nothing.',
    flags: {
      '--data <folder>': 'data folder of a running npm start: check its two databases',
    },
    examples: ['doctor', 'doctor -data=data', 'doctor -format=json'],
    more:
      'Checks the secrets service (--address), the workspace service if WORKSPACES_ADDR is set, and the databases in\n' +
      'SECRETS_DATABASE_URL and WORKSPACES_DATABASE_URL (or these with _FILE), with the permissions of your token and of\n' +
      'the database users. Lists what it could not check. Exit code 2 if there are warnings or critical problems.',
    async run(context, flags: DoctorFlags) {
      const all: Findings[] = [];
      const about = (subject: string): Findings => {
        const findings = new Findings(subject);
        all.push(findings);
        return findings;
      };
      const secrets = about('secrets');
      const { env } = context;
      // In a container of the workspace service, its settings may name the address of the secrets service.
      const ofWorkspaces =
        !context.settings.addressIsSet && !isServiceHere(env, 'secrets') && isServiceHere(env, 'workspaces');
      const other = env.WORKSPACES_SECRETS_ADDR;
      if (!ofWorkspaces) await checkSecrets(context, secrets);
      else if (other) await checkSecrets(at(context, other.replace(/\/$/, '')), secrets);
      else secrets.add('unchecked', 'no address was given', 'give --address');
      const address = workspacesAddress(context.env);
      const workspaces = about('workspaces');
      if (address) await checkWorkspaces(context.settings, address, workspaces);
      else workspaces.add('unchecked', 'no address was given', 'set WORKSPACES_ADDR');
      for (const service of ['secrets', 'workspaces'] as const) {
        checkProxies(context.env, service, service === 'secrets' ? secrets : workspaces);
        await lookAtDatabase(context, flags, service, about(`database of ${service}`));
      }
      show(context, all);
    },
  },
];

/** Whether this environment has the settings of a service. */
const isServiceHere = (env: NodeJS.ProcessEnv, service: ServiceName): boolean =>
  [`${service.toUpperCase()}_DATABASE_URL`, `${service.toUpperCase()}_DATABASE_URL_FILE`].some((name) => env[name]);

function at(context: Context, address: string): Context {
  const settings = { ...context.settings, address };
  return { ...context, settings, client: new Client(settings) };
}

/** Checks whether other machines can impersonate the proxy of a service, if the environment contains its settings. */
function checkProxies(env: NodeJS.ProcessEnv, service: ServiceName, findings: Findings): void {
  const prefix = service.toUpperCase();
  if (!env[`${prefix}_TRUSTED_PROXIES`]) return;
  findings.check(
    'warning',
    !env[`${prefix}_TRUSTED_PROXY_SECRET`] && !env[`${prefix}_TRUSTED_PROXY_SECRET_FILE`],
    'its trusted proxies have a secret',
    'trusts proxies only by their address: every program at that address can act as one',
    `set ${prefix}_TRUSTED_PROXY_SECRET, and let the proxy send it in X-Keystead-Proxy-Secret: docs/deploy.md`,
  );
}

async function lookAtDatabase(context: Context, { data }: DoctorFlags, service: ServiceName, findings: Findings) {
  const { env } = context;
  const name = `${service.toUpperCase()}_DATABASE_URL`;
  if (!data && !isServiceHere(env, service)) {
    return findings.add('unchecked', 'no address was given', `set ${name} or ${name}_FILE, or give --data`);
  }
  const { findDatabase }: typeof import('../backup/service-database') = require('../backup/service-database');
  const { checkDatabase }: typeof import('../doctor/database') = require('../doctor/database');
  await checkDatabase(await findDatabase(service, { data }, env), service, findings);
}

function show({ output, exitWith }: Context, all: readonly Findings[]): void {
  const findings = inOrder(all.flatMap((one) => one.all));
  const fine = all.flatMap((one) => one.fine);
  const bad = findings.filter(({ severity }) => severity === 'critical' || severity === 'warning');
  const columns = ['severity', 'about', 'finding', 'next'];
  const rows = findings.map(({ severity, subject, what, next }) => [severity, subject, what, next]);
  output.rows({ findings, fine }, columns, rows);
  output.note(`${bad.length} problems, ${fine.length} checks passed`);
  if (bad.length > 0) exitWith(exitCodes.refused);
}
