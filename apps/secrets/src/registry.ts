import type { AccountsClient } from './backends/accounts/accounts-client';
import { accounts } from './backends/accounts/backend';
import { approle } from './backends/approle/backend';
import { aws } from './backends/aws/backend';
import type { AwsParts } from './backends/aws/parts';
import { type CertParts, cert } from './backends/cert/backend';
import { azure, cloudone } from './backends/cloudone/backend';
import type { CloudOneParts } from './backends/cloudone/login';
import { cloudtwo } from './backends/cloudtwo/backend';
import type { CloudTwo } from './backends/cloudtwo/cloud';
import { cubbyhole } from './backends/cubbyhole/backend';
import { type DatabaseParts, database } from './backends/database/backend';
import { github } from './backends/github/backend';
import type { Organizations } from './backends/github/organizations';
import { jwt } from './backends/jwt/backend';
import type { OidcProvider } from './backends/jwt/provider';
import { kubernetes } from './backends/kubernetes/backend';
import type { Cluster } from './backends/kubernetes/cluster';
import { kvOne, kvTwo } from './backends/kv/backend';
import { kvUpgrading } from './backends/kv/upgrade';
import { ldap } from './backends/ldap/backend';
import type { Directory } from './backends/ldap/directory';
import type { Validations } from './backends/pki/acme/validations';
import { pki } from './backends/pki/backend';
import { scheduler } from './backends/scheduler/backend';
import type { Scheduler } from './backends/scheduler/scheduler';
import { ssh } from './backends/ssh/backend';
import { totp } from './backends/totp/backend';
import { transit } from './backends/transit/backend';
import { userpass } from './backends/userpass/backend';
import type { Backend } from './sdk/backend';
import type { Path } from './sdk/path';
import { type IdentityParts, identity } from './system/identity/backend';
import { system } from './system/sys/backend';
import { token } from './system/token/backend';
import type { TokenParts } from './system/token/parts';

/** The dependencies of backends: clients of outside systems and, for those in `system`, kernel objects. */
export interface Outside {
  /** The public address of the service, if it is set. */
  readonly publicUrl: string | undefined;
  readonly scheduler: Scheduler;
  readonly cloudone: CloudOneParts;
  readonly cloudtwo: CloudTwo;
  readonly database: DatabaseParts;
  readonly jwt: OidcProvider;
  readonly kubernetes: Cluster;
  readonly accounts: AccountsClient;
  readonly ldap: Directory;
  readonly cert: CertParts;
  readonly github: Organizations;
  readonly aws: AwsParts;
  readonly validations: Validations;
  readonly tokens: TokenParts;
  readonly identity: IdentityParts;
  readonly system: readonly Path[];
}

/** A kind of mount, its default path, and how it is created; options may decide between several backends. */
export interface Registered {
  readonly type: string;
  readonly kind: 'secret' | 'auth' | 'system';
  /** Mounted in every new namespace. */
  readonly always?: { readonly path: string; readonly description: string; readonly local?: boolean };
  /** A mount of new installations, unless they leave it out. */
  readonly usually?: { readonly path: string; readonly description: string };
  make(outside: Outside): (options: Readonly<Record<string, string>> | null) => Backend;
}

const one =
  (make: (outside: Outside) => Backend): Registered['make'] =>
  (outside) => {
    const backend = make(outside);
    return () => backend;
  };

/** Every kind of mount. The same type may exist as a secrets engine and as an auth method. */
export const registry: readonly Registered[] = [
  {
    type: 'cubbyhole',
    kind: 'secret',
    always: { path: 'cubbyhole/', description: 'per-token private secret storage', local: true },
    make: one(() => cubbyhole),
  },
  {
    type: 'identity',
    kind: 'system',
    always: { path: 'identity/', description: 'identity store' },
    make: one((outside) => identity(outside.identity)),
  },
  {
    type: 'system',
    kind: 'system',
    always: { path: 'sys/', description: 'system endpoints used for control, policy and debugging' },
    make: one((outside) => system(outside.system)),
  },
  {
    type: 'token',
    kind: 'system',
    always: { path: 'auth/token/', description: 'token based credentials' },
    make: one((outside) => token(outside.tokens)),
  },
  { type: 'userpass', kind: 'auth', make: one((outside) => userpass(outside.publicUrl)) },
  { type: 'approle', kind: 'auth', make: one(() => approle()) },
  { type: 'jwt', kind: 'auth', make: one((outside) => jwt(outside.jwt)) },
  { type: 'oidc', kind: 'auth', make: one((outside) => jwt(outside.jwt)) },
  { type: 'kubernetes', kind: 'auth', make: one((outside) => kubernetes(outside.kubernetes)) },
  { type: 'ldap', kind: 'auth', make: one((outside) => ldap(outside.ldap)) },
  { type: 'cert', kind: 'auth', make: one((outside) => cert(outside.cert)) },
  { type: 'github', kind: 'auth', make: one((outside) => github(outside.github)) },
  { type: 'aws', kind: 'auth', make: one((outside) => aws(outside.aws)) },
  {
    type: 'kv',
    kind: 'secret',
    make: () => (options) => (options?.upgrading ? kvUpgrading : options?.version === '2' ? kvTwo : kvOne),
  },
  { type: 'transit', kind: 'secret', make: one(() => transit) },
  { type: 'pki', kind: 'secret', make: one((outside) => pki(outside.validations)) },
  { type: 'kubernetes', kind: 'secret', make: one((outside) => accounts(outside.accounts)) },
  { type: 'ssh', kind: 'secret', make: one(() => ssh) },
  { type: 'totp', kind: 'secret', make: one(() => totp) },
  { type: 'database', kind: 'secret', make: one((outside) => database(outside.database)) },
  {
    type: 'scheduler',
    kind: 'secret',
    usually: { path: 'scheduler/', description: 'tokens for the job scheduler' },
    make: one((outside) => scheduler(outside.scheduler)),
  },
  {
    type: 'cloudtwo',
    kind: 'secret',
    usually: { path: 'cloudtwo/', description: 'cloud credentials from roles' },
    make: one((outside) => cloudtwo(outside.cloudtwo)),
  },
  {
    type: 'cloudone',
    kind: 'auth',
    usually: { path: 'auth/cloudone/', description: 'logins with tokens of the cloud directory' },
    make: one((outside) => cloudone(outside.cloudone)),
  },
  // Other names of three of these types, for existing clients.
  { type: 'nomad', kind: 'secret', make: one((outside) => scheduler(outside.scheduler)) },
  { type: 'aws', kind: 'secret', make: one((outside) => cloudtwo(outside.cloudtwo)) },
  { type: 'azure', kind: 'auth', make: one((outside) => azure(outside.cloudone)) },
];
