import { randomUUID } from 'node:crypto';
import { root as makeRoot } from './stand-ins/authority';
import { DirectoryStandIn as CloudStandIn } from './stand-ins/cloudone';
import { GithubStandIn } from './stand-ins/github';
import { IssuerStandIn } from './stand-ins/jwt';
import { ClusterStandIn } from './stand-ins/kubernetes';
import { DirectoryStandIn } from './stand-ins/ldap';
import { ProviderStandIn } from './stand-ins/oidc';
import { loginFields, StsStandIn, signedRequest } from './stand-ins/sts';
import type { Secrets } from './start-secrets';
import { TlsListener } from './tls-listener';

/** How an auth method is set up, and how to log in with it. */
export interface MethodLogin {
  /** The write that configures the method; the path is below the mount. */
  readonly config?: readonly [path: string, fields: object];
  /** The path that stores the token parameters (of a role, a user or the configuration), and the other fields of this path. */
  readonly record: readonly [path: string, fields: object];
  /**
   * Changes of the requirements, in the fields of `record` and in the configuration. The login meets the new
   * requirements, too, but a login that began before the change must be refused.
   */
  readonly demands: object;
  readonly configChange?: object;
  /** Whether a waiting login is refused, like a renewal, if the policies have changed since it began. */
  readonly keepsPolicies?: boolean;
  login?(): Promise<readonly [path: string, body: object]>;
  /** Starts a login that waits for its caller; returns a function to get the token. */
  wait?(secrets: Secrets): Promise<() => Sent>;
}

// biome-ignore lint/suspicious/noExplicitAny: bodies of every answer
export type Sent = Promise<{ status: number; body: any }>;

const account = '123456789012';
const back = 'http://localhost:8250/oidc/callback';

/** Logins with every auth method, each against a stand-in for its outside system. */
export class MethodLogins {
  private readonly directory = new DirectoryStandIn();
  private readonly hub = new GithubStandIn();
  private readonly cluster = new ClusterStandIn();
  private readonly issuer = new IssuerStandIn();
  private readonly provider = new ProviderStandIn();
  private readonly sts = new StsStandIn();
  private readonly cloud = new CloudStandIn();
  private readonly tls = new TlsListener();
  private readonly authority = makeRoot('Acme Root');
  private readonly web = this.authority.issue('web');
  private readonly standIns = [
    this.directory,
    this.hub,
    this.cluster,
    this.issuer,
    this.provider,
    this.sts,
    this.cloud,
  ];
  readonly env: Record<string, string> = {};

  constructor(nowMs: () => number) {
    for (const one of [this.cluster, this.issuer, this.provider, this.cloud]) one.nowMs = nowMs;
    const people = 'ou=people,dc=acme';
    this.directory.entries = [{ dn: `uid=ada,${people}`, password: 'right', attributes: { uid: ['ada'] } }];
    this.hub.members.set('ada-token', { login: 'Ada', organizations: [42], teams: [] });
    this.hub.organizations.set('other', 42);
    const ada = { secret: 'secret of AKIAADA', arn: `arn:aws:iam::${account}:user/ada`, userId: 'AIDAADA' };
    this.sts.signers.set('AKIAADA', ada);
  }

  /** Started before the service, which reads some of their addresses from its environment. */
  async start(): Promise<void> {
    await Promise.all(this.standIns.map((one) => one.start()));
    const { address } = this.cloud;
    Object.assign(this.env, { CLOUDONE_AUTHORITY_HOST: address, CLOUDONE_RESOURCE_MANAGER: address });
  }

  /** The listener that asks for certificates. */
  listen(secrets: Secrets): Promise<void> {
    return this.tls.start(secrets.service.app);
  }

  async stop(): Promise<void> {
    await this.tls.stop();
    await Promise.all(this.standIns.map((one) => one.stop()));
  }

  /** A request with the client certificate of a method. */
  send(path: string, body: object): Sent {
    return this.tls.send(path, this.web, { body });
  }

  /** Every auth method by its type. */
  readonly all = (root: Secrets['root']): Readonly<Record<string, MethodLogin>> => ({
    userpass: {
      record: ['users/ada', { password: 'horse' }],
      demands: { password: 'other' },
      keepsPolicies: true,
      login: async () => ['login/ada', { password: 'horse' }],
    },
    approle: {
      record: ['role/ada', {}],
      demands: { secret_id_bound_cidrs: '127.0.0.0/8' },
      login: async () => {
        const { role_id } = (await root.read('auth/approle/role/ada/role-id')).body.data;
        const { secret_id } = (await root.write('auth/approle/role/ada/secret-id')).body.data;
        return ['login', { role_id, secret_id }];
      },
    },
    jwt: {
      config: ['config', { oidc_discovery_url: this.issuer.address }],
      record: ['role/ada', { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'secrets' }],
      demands: { bound_subject: 'run-1' },
      configChange: { default_role: 'ada' },
      login: async () => ['login', { role: 'ada', jwt: this.issuer.sign() }],
    },
    kubernetes: {
      config: [
        'config',
        {
          kubernetes_host: this.cluster.address,
          kubernetes_ca_cert: this.cluster.ca,
          token_reviewer_jwt: this.cluster.reviewer,
        },
      ],
      record: ['role/ada', { bound_service_account_names: 'web', bound_service_account_namespaces: 'shop' }],
      demands: { bound_service_account_names: 'web,other' },
      configChange: { issuer: 'another' },
      login: async () => ['login', { role: 'ada', jwt: this.cluster.token(this.cluster.accounts[0]!) }],
    },
    ldap: {
      record: ['config', { url: this.directory.address, userdn: 'ou=people,dc=acme', userattr: 'uid' }],
      demands: { max_page_size: 5 },
      login: async () => ['login/ada', { password: 'right' }],
    },
    cert: {
      record: ['certs/ada', { certificate: this.authority.pem }],
      demands: { allowed_common_names: 'web' },
      keepsPolicies: true,
      login: async () => ['login', { name: 'ada' }],
    },
    github: {
      record: ['config', { organization: 'acme', base_url: this.hub.address }],
      demands: { organization: 'other' },
      login: async () => ['login', { token: 'ada-token' }],
    },
    aws: {
      config: ['config/client', { sts_endpoint: this.sts.address, iam_endpoint: this.sts.address }],
      record: [
        'role/ada',
        {
          auth_type: 'iam',
          bound_iam_principal_arn: `arn:aws:iam::${account}:user/ada`,
          resolve_aws_unique_ids: false,
        },
      ],
      demands: { bound_iam_principal_arn: ['ada', 'bob'].map((name) => `arn:aws:iam::${account}:user/${name}`) },
      configChange: { max_retries: 1 },
      login: async () => {
        const signed = await signedRequest('AKIAADA', this.sts.address);
        return ['login', { role: 'ada', ...loginFields(signed) }];
      },
    },
    oidc: {
      config: [
        'config',
        {
          oidc_discovery_url: this.provider.address,
          oidc_client_id: this.provider.clientId,
          oidc_client_secret: this.provider.clientSecret,
        },
      ],
      record: ['role/ada', { user_claim: 'sub', allowed_redirect_uris: back, callback_mode: 'direct' }],
      demands: { bound_subject: 'ada' },
      configChange: { default_role: 'ada' },
      wait: async ({ anonymous }) => {
        const begun = { role: 'ada', redirect_uri: back, client_nonce: 'mine' };
        const { auth_url, state } = (await anonymous.write('auth/oidc/oidc/auth_url', begun)).body.data;
        const sent = { ...this.provider.signIn(auth_url), confirmation: 'yes' };
        await anonymous.read(`auth/oidc/oidc/callback?${new URLSearchParams(sent)}`).expect(200);
        return () => this.send('auth/oidc/oidc/poll', { state, client_nonce: 'mine' });
      },
    },
    cloudone: {
      config: ['config', { tenant_id: this.cloud.tenant, resource: this.cloud.resource }],
      record: ['role/ada', { bound_service_principal_ids: 'oid-1' }],
      demands: { bound_service_principal_ids: 'oid-1,oid-2' },
      configChange: { client_id: 'another' },
      login: async () => {
        const where = { subscription_id: randomUUID(), resource_group_name: 'rg-one' };
        return ['login', { role: 'ada', ...where, jwt: this.cloud.sign() }];
      },
    },
  });
}
