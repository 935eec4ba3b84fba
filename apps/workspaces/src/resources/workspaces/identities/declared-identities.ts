/** Where an identity token is used: by any program that receives it, or by the provider of a cloud or service. */
export const identityKinds = ['token', 'aws', 'gcp', 'azure', 'vault', 'kubernetes'] as const;
export type IdentityKind = (typeof identityKinds)[number];

/** An identity that the environment variables of a workspace request. */
export interface DeclaredIdentity {
  readonly kind: IdentityKind;
  /** Empty for the identity without a tag. */
  readonly tag: string;
  readonly audience: string;
  /** The other variables of the identity, by the name of the setting. */
  readonly settings: Readonly<Record<string, string>>;
}

/** The identities for a plan or an apply, and the errors in the variables that request them. */
export interface Declared {
  readonly identities: readonly DeclaredIdentity[];
  readonly problems: readonly string[];
}

type Settings = Record<string, string>;

interface Provider {
  /** The default audience; undefined if a variable must set it. */
  readonly audience: (settings: Settings) => string | undefined;
  /** Settings that plans and applies may have separately. */
  readonly byPhase?: string;
  readonly plain?: readonly string[];
  readonly required: readonly string[];
}

/** The name of a Google workload identity provider, set as a whole or in parts. */
export const gcpProvider = (settings: Settings): string =>
  settings.WORKLOAD_PROVIDER_NAME ??
  `projects/${settings.PROJECT_NUMBER}/locations/global/workloadIdentityPools/${settings.WORKLOAD_POOL_ID}/providers/${settings.WORKLOAD_PROVIDER_ID}`;

const providers: Readonly<Record<Exclude<IdentityKind, 'token'>, Provider>> = {
  aws: { audience: () => 'aws.workload.identity', byPhase: 'ROLE_ARN', required: ['ROLE_ARN'] },
  gcp: {
    audience: (settings) => `//iam.googleapis.com/${gcpProvider(settings)}`,
    byPhase: 'SERVICE_ACCOUNT_EMAIL',
    plain: ['WORKLOAD_PROVIDER_NAME', 'PROJECT_NUMBER', 'WORKLOAD_POOL_ID', 'WORKLOAD_PROVIDER_ID'],
    required: [],
  },
  azure: { audience: () => 'api://AzureADTokenExchange', byPhase: 'CLIENT_ID', required: ['CLIENT_ID'] },
  vault: {
    audience: () => 'vault.workload.identity',
    byPhase: 'ROLE',
    plain: ['ADDR', 'NAMESPACE', 'AUTH_PATH', 'ENCODED_CACERT'],
    required: ['ADDR', 'ROLE'],
  },
  kubernetes: { audience: () => undefined, required: [] },
};

const audienceName = /^TFC_WORKLOAD_IDENTITY_AUDIENCE(?:_(\w+))?$/;
const providerName = /^TFC_(AWS|GCP|AZURE|VAULT|KUBERNETES)_PROVIDER_AUTH(?:_(\w+))?$/;
/** Variables of logins that are not supported. */
const unserved = /^TFC_(HCP_PROVIDER|VAULT_BACKED_(AWS|GCP|AZURE))_AUTH(_\w+)?$/;
const most = 50;

/** Reads the identities in the environment variables of a workspace, under the names that HCP Terraform documents. */
export function declaredIdentities(environment: ReadonlyMap<string, string>, phase: 'plan' | 'apply'): Declared {
  const identities: DeclaredIdentity[] = [];
  const problems: string[] = [];
  for (const [name, value] of [...environment].sort(([one], [other]) => (one < other ? -1 : 1))) {
    const [, audienceTag] = audienceName.exec(name) ?? [undefined, undefined];
    if (audienceName.test(name) && value !== '') {
      identities.push({ kind: 'token', tag: audienceTag ?? '', audience: value, settings: {} });
    }
    if (value !== 'true') continue;
    if (unserved.test(name)) problems.push(`${name} asks for a login that this service does not offer`);
    const [, word, tag = ''] = providerName.exec(name) ?? [];
    if (word === undefined) continue;
    const read = readProvider(environment, word, tag, phase);
    if (typeof read === 'string') problems.push(`${name} is set, but ${read}`);
    else identities.push(read);
  }
  for (const { kind, tag, audience } of identities) {
    if (/[^\x20-\x7e]/.test(audience) || audience.length > 1000) {
      problems.push(
        `the audience of ${[kind, tag].filter(Boolean).join(' ')} is not plain text of at most 1000 characters`,
      );
    }
  }
  if (identities.length > most)
    problems.push(`the variables request ${identities.length} identities; the maximum is ${most}`);
  return { identities, problems };
}

/** One login of a provider, or the error in its variables. */
function readProvider(
  environment: ReadonlyMap<string, string>,
  word: string,
  tag: string,
  phase: 'plan' | 'apply',
): DeclaredIdentity | string {
  const kind = word.toLowerCase() as keyof typeof providers;
  const { audience, byPhase, plain = [], required } = providers[kind];
  const settings: Settings = {};
  const suffix = tag === '' ? '' : `_${tag}`;
  const found = (...names: string[]): string | undefined =>
    [...names.map((name) => `TFC_${word}_${name}${suffix}`), ...names.map((name) => `TFC_DEFAULT_${word}_${name}`)]
      .map((name) => environment.get(name))
      .find(Boolean);
  const take = (setting: string, ...names: string[]) => {
    const value = found(...names);
    if (value !== undefined) settings[setting] = value;
  };
  if (byPhase) take(byPhase, `${phase.toUpperCase()}_${byPhase}`, `RUN_${byPhase}`);
  for (const name of plain) take(name, name);
  for (const name of required) {
    if (settings[name]) continue;
    return `TFC_${word}_${name === byPhase ? 'RUN_' : ''}${name}${suffix} is not`;
  }
  if (kind === 'gcp' && !settings.WORKLOAD_PROVIDER_NAME) {
    const missing = ['PROJECT_NUMBER', 'WORKLOAD_POOL_ID', 'WORKLOAD_PROVIDER_ID'].find((name) => !settings[name]);
    if (missing) return `neither TFC_GCP_WORKLOAD_PROVIDER_NAME${suffix} nor TFC_GCP_${missing}${suffix} is`;
  }
  if (kind === 'vault') {
    const problem = vaultProblem(settings);
    if (problem !== undefined) return problem;
  }
  const tokenAudience = found('WORKLOAD_IDENTITY_AUDIENCE') ?? audience(settings);
  if (tokenAudience === undefined) return `TFC_${word}_WORKLOAD_IDENTITY_AUDIENCE${suffix} is not`;
  return { kind, tag, audience: tokenAudience, settings };
}

/** Why the settings of Vault cannot be used; undefined if they can. Their values become part of an address. */
function vaultProblem({ ADDR = '', AUTH_PATH = 'jwt', NAMESPACE = '' }: Settings): string | undefined {
  const address = URL.canParse(ADDR) ? new URL(ADDR) : undefined;
  const isPlain = address && /^https?:$/.test(address.protocol) && `${address.username}${address.password}` === '';
  if (!isPlain || address.search !== '' || address.hash !== '') return 'TFC_VAULT_ADDR is not an http or https address';
  const isPath = (text: string) => /^[\w./ -]*$/.test(text) && !text.split('/').some((part) => /^\.+$/.test(part));
  if (!isPath(AUTH_PATH)) return 'TFC_VAULT_AUTH_PATH is not a path';
  return isPath(NAMESPACE) ? undefined : 'TFC_VAULT_NAMESPACE is not a path';
}
