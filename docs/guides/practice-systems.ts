import { randomUUID } from 'node:crypto';
import { AccountsStandIn } from '../../apps/secrets/test/stand-ins/accounts';
import { root } from '../../apps/secrets/test/stand-ins/authority';
import { DirectoryStandIn } from '../../apps/secrets/test/stand-ins/cloudone';
import { CloudStandIn } from '../../apps/secrets/test/stand-ins/cloudtwo';
import { GithubStandIn } from '../../apps/secrets/test/stand-ins/github';
import { ClusterStandIn } from '../../apps/secrets/test/stand-ins/kubernetes';
import { DirectoryStandIn as LdapStandIn } from '../../apps/secrets/test/stand-ins/ldap';
import { ProviderStandIn } from '../../apps/secrets/test/stand-ins/oidc';
import { actionsClaims, gitlabClaims } from '../../apps/secrets/test/stand-ins/pipelines';
import { listOf, listPem } from '../../apps/secrets/test/stand-ins/revocation';
import { SchedulerStandIn } from '../../apps/secrets/test/stand-ins/scheduler';
import { ObjectStoreStandIn } from '../../apps/workspaces/test/object-store-stand-in';
import { startPracticeDatabase } from './practice-database';

/** Stand-ins for the systems that engines and login methods use, for readers who follow a guide without the real ones. */
export interface PracticeSystems {
  /** The environment variables that the guides expect in the shell. */
  shell: Record<string, string>;
  /** The environment variables that the secrets service must be started with. */
  service: Record<string, string>;
  stop(): Promise<void>;
}

const subscription = randomUUID();
/** The claims about its run in a pipeline's token. */
const build = { sub: 'project:harbour/crane:branch:main', project: 'harbour/crane', ref: 'main', teams: ['builders'] };

/** Starts a scheduler, a cloud provider, a directory and an OpenID provider, a cluster, an LDAP directory, an object store and a PostgreSQL on free ports of the loopback. */
export async function startPracticeSystems(): Promise<PracticeSystems> {
  const scheduler = new SchedulerStandIn();
  const cloud = new CloudStandIn();
  const directory = new DirectoryStandIn();
  const issuer = new ProviderStandIn();
  const cluster = new ClusterStandIn();
  const accounts = new AccountsStandIn();
  const hub = new GithubStandIn();
  const store = new ObjectStoreStandIn();
  hub.members.set('practice-token', {
    login: 'ada',
    organizations: [42],
    teams: [{ name: 'Site Operators', slug: 'site-operators', organization: 42 }],
  });
  const authority = root('Practice authority');
  const client = authority.issue('web-1', { dns: ['web-1.shop.example'] });
  const ldap = new LdapStandIn();
  ldap.entries = [
    { dn: 'cn=service,dc=acme', password: 'service-password', attributes: {} },
    { dn: 'uid=ada,ou=people,dc=acme', password: 'correct horse', attributes: { uid: ['ada'] } },
    { dn: 'cn=ops,ou=groups,dc=acme', attributes: { cn: ['ops'], member: ['uid=ada,ou=people,dc=acme'] } },
  ];
  const [database] = await Promise.all([
    startPracticeDatabase(),
    ldap.start(),
    cluster.start(),
    accounts.start(),
    hub.start(),
    scheduler.start(),
    cloud.start(),
    directory.start(),
    issuer.start(),
    store.start(),
  ]);
  const where = { subscription, group: 'harbour' };
  directory.addMachine('crane-1', where, { principalId: 'oid-1' });
  return {
    shell: {
      SCHEDULER: scheduler.address,
      SCHEDULER_MANAGEMENT: scheduler.management,
      CLOUD: cloud.address,
      CLOUD_KEY: cloud.rootKey.id,
      CLOUD_SECRET: cloud.rootKey.secret,
      TENANT: directory.tenant,
      AUDIENCE: directory.resource,
      CLIENT_SECRET: directory.clientSecret,
      SUBSCRIPTION: subscription,
      MACHINE_JWT: directory.sign({
        xms_mirid: `/subscriptions/${subscription}/resourcegroups/harbour/providers/Microsoft.Compute/virtualMachines/crane-1`,
      }),
      LDAP: ldap.address,
      CLIENT_CA: authority.pem,
      CLIENT_CERT: client.pem,
      CLIENT_CRL: listPem(listOf(authority, [client.serial])),
      GITHUB_API: hub.address,
      GITHUB_TOKEN: 'practice-token',
      BUCKET: `s3://${store.bucket}/backups?endpoint=${store.endpoint}&region=eu-test-1`,
      BUCKET_KEY: store.credentials.accessKeyId,
      BUCKET_SECRET: store.credentials.secretAccessKey,
      DATABASE: database.address,
      CLUSTER: cluster.address,
      CLUSTER_CA: cluster.ca,
      CLUSTER_REVIEWER: cluster.reviewer,
      ACCOUNTS: accounts.address,
      ACCOUNTS_TOKEN: accounts.bearer,
      POD_JWT: cluster.token(cluster.accounts[0]!, { exp: Math.floor(Date.now() / 1000) + 86_400 }),
      ISSUER: issuer.address,
      OIDC_CLIENT: issuer.clientId,
      OIDC_SECRET: issuer.clientSecret,
      ACTIONS_JWT: issuer.sign({ ...actionsClaims, exp: Math.floor(Date.now() / 1000) + 86_400 }),
      GITLAB_JWT: issuer.sign({ ...gitlabClaims, exp: Math.floor(Date.now() / 1000) + 86_400 }),
      BUILD_JWT: issuer.sign({ ...build, exp: Math.floor(Date.now() / 1000) + 86_400 }),
    },
    service: {
      SECRETS_TRUSTED_PROXIES: '127.0.0.1',
      SECRETS_CLIENT_CERTIFICATE_HEADER: 'X-Client-Cert',
      CLOUDONE_AUTHORITY_HOST: directory.address,
      CLOUDONE_RESOURCE_MANAGER: directory.address,
      CLOUDONE_METADATA_HOST: directory.address,
    },
    async stop() {
      await Promise.all([
        database.stop(),
        ldap.stop(),
        cluster.stop(),
        accounts.stop(),
        scheduler.stop(),
        cloud.stop(),
        directory.stop(),
        issuer.stop(),
        hub.stop(),
        store.stop(),
      ]);
    },
  };
}
