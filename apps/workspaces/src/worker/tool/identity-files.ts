import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import {
  type DeclaredIdentity,
  gcpProvider,
  identityKinds,
} from '../../resources/workspaces/identities/declared-identities';

/** An identity with its token: either an identity token, or the token from a login with an identity token. */
export interface GivenIdentity extends DeclaredIdentity {
  readonly token: string;
}

/** Where the files of identities are, relative to the job's folder. */
export const identityFolder = 'identity';

/** The file that contains an identity's token. It is replaced during the run. */
const tokenFile = ({ kind, tag }: DeclaredIdentity) => `${named(kind, tag)}-token`;
const named = (kind: string, tag: string): string => (tag === '' ? kind : `${kind}-${tag}`);

/** The format in which one kind of provider reads an identity. */
interface Shape {
  /** Files by name, in addition to the token. */
  files?(identity: GivenIdentity, folder: string, runId: string): Record<string, string>;
  /** Environment variables, only for the identity without a tag. */
  environment(identity: GivenIdentity, folder: string, runId: string): Record<string, string>;
  /** Its entry in the variable `tfc_…_dynamic_credentials`. */
  entry(identity: GivenIdentity, folder: string): Record<string, string>;
}

const shapes: Readonly<Record<Exclude<DeclaredIdentity['kind'], 'token'>, Shape>> = {
  aws: {
    files: (identity, folder, runId) => ({
      [named('aws', identity.tag)]: [
        '[default]',
        `role_arn = ${oneLine(identity.settings.ROLE_ARN)}`,
        `web_identity_token_file = ${folder}/${tokenFile(identity)}`,
        `role_session_name = ${runId}`,
        '',
      ].join('\n'),
    }),
    environment: (identity, folder, runId) => ({
      AWS_ROLE_ARN: identity.settings.ROLE_ARN ?? '',
      AWS_WEB_IDENTITY_TOKEN_FILE: `${folder}/${tokenFile(identity)}`,
      AWS_ROLE_SESSION_NAME: runId,
    }),
    entry: ({ tag }, folder) => ({ shared_config_file: `${folder}/${named('aws', tag)}` }),
  },
  gcp: {
    files: (identity, folder) => ({
      [`${named('gcp', identity.tag)}.json`]: JSON.stringify(
        googleAccount(identity, `${folder}/${tokenFile(identity)}`),
      ),
    }),
    environment: ({ tag }, folder) => ({ GOOGLE_CREDENTIALS: `${folder}/${named('gcp', tag)}.json` }),
    entry: ({ tag }, folder) => ({ credentials: `${folder}/${named('gcp', tag)}.json` }),
  },
  azure: {
    files: ({ tag, settings }) => ({ [`${named('azure', tag)}-client-id`]: settings.CLIENT_ID ?? '' }),
    environment: (identity, folder) => ({
      ARM_USE_OIDC: 'true',
      ARM_CLIENT_ID: identity.settings.CLIENT_ID ?? '',
      ARM_OIDC_TOKEN_FILE_PATH: `${folder}/${tokenFile(identity)}`,
    }),
    entry: (identity, folder) => ({
      client_id_file_path: `${folder}/${named('azure', identity.tag)}-client-id`,
      oidc_token_file_path: `${folder}/${tokenFile(identity)}`,
    }),
  },
  vault: {
    files: ({ tag, settings }) => {
      const ca = vaultCa(settings);
      return ca === undefined ? {} : { [`${named('vault', tag)}-ca.pem`]: ca };
    },
    environment: (identity, folder) => vaultEnvironment(identity, folder),
    entry: (identity, folder) => ({
      token_filename: `${folder}/${tokenFile(identity)}`,
      address: identity.settings.ADDR ?? '',
      namespace: identity.settings.NAMESPACE ?? '',
      ca_cert_file: vaultCa(identity.settings) === undefined ? '' : `${folder}/${named('vault', identity.tag)}-ca.pem`,
    }),
  },
  kubernetes: {
    environment: ({ token }) => ({ KUBE_TOKEN: token }),
    entry: (identity, folder) => ({ token_path: `${folder}/${tokenFile(identity)}` }),
  },
};

const oneLine = (text = ''): string => text.replace(/[\r\n]/g, ' ');

/** The certificates that a login at Vault trusts, if a variable contains them. */
export const vaultCa = ({ ENCODED_CACERT }: DeclaredIdentity['settings']): string | undefined =>
  ENCODED_CACERT === undefined ? undefined : Buffer.from(ENCODED_CACERT, 'base64').toString('utf8');

/**
 * The environment variables in which the service's own command line, tools and providers look for a login at the
 * secrets service or Vault.
 */
export function secretsEnvironment(address: string, namespace: string, token: string): Record<string, string> {
  return {
    SERVICE_ADDR: address,
    SERVICE_TOKEN: token,
    VAULT_ADDR: address,
    VAULT_TOKEN: token,
    ...(namespace === '' ? {} : { SERVICE_NAMESPACE: namespace, VAULT_NAMESPACE: namespace }),
  };
}

function vaultEnvironment({ settings, token }: GivenIdentity, folder: string): Record<string, string> {
  return {
    ...secretsEnvironment(settings.ADDR ?? '', settings.NAMESPACE ?? '', token),
    ...(vaultCa(settings) === undefined ? {} : { VAULT_CACERT: `${folder}/vault-ca.pem` }),
  };
}

/**
 * The file that Google's libraries read: how to exchange the token in a file for a Google token, and for which account.
 */
function googleAccount({ settings }: GivenIdentity, file: string) {
  const account = settings.SERVICE_ACCOUNT_EMAIL;
  const impersonation = `https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/${account}:generateAccessToken`;
  return {
    type: 'external_account',
    audience: `//iam.googleapis.com/${gcpProvider(settings)}`,
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: 'https://sts.googleapis.com/v1/token',
    ...(account === undefined ? {} : { service_account_impersonation_url: impersonation }),
    credential_source: { file, format: { type: 'text' } },
  };
}

/**
 * The identities of a job in the formats that providers read: environment variables, files next to the configuration,
 * and variables of the tool that name these files. Files are replaced through handles that were opened before the run
 * started, because the run may have put links in their place.
 */
export class IdentityFiles {
  private readonly open: { readonly identity: GivenIdentity; readonly handle: FileHandle }[] = [];

  constructor(
    private readonly identities: readonly GivenIdentity[],
    private readonly runId: string,
  ) {}

  /** Files by their names in the job's folder; `home` is that folder as the tool sees it. */
  contents(home: string): { readonly name: string; readonly text: string; readonly identity?: GivenIdentity }[] {
    const folder = path.join(home, identityFolder);
    const at = (name: string) => path.join(identityFolder, name);
    return this.identities.flatMap((identity) => {
      if (identity.kind === 'token') return [];
      const files = shapes[identity.kind].files?.(identity, folder, this.runId) ?? {};
      return [
        { name: at(tokenFile(identity)), text: identity.token, identity },
        ...Object.entries(files).map(([name, text]) => ({ name: at(name), text })),
      ];
    });
  }

  /** Keeps the handle of a token file open; the file is replaced through it. */
  keep(identity: GivenIdentity, handle: FileHandle): void {
    this.open.push({ identity, handle });
  }

  /**
   * Environment variables. Variables of the tool name files relative to the folder where it runs (`up` leads from there
   * to the job's folder), because a plan stores its variables, and its apply may run in another folder.
   */
  environment(home: string, up: string): Record<string, string> {
    const folder = path.join(home, identityFolder);
    const relative = path.join(up, identityFolder);
    const all: Record<string, string> = {};
    for (const identity of this.identities) {
      const { kind, tag, token } = identity;
      if (kind === 'token') all[`TFC_WORKLOAD_IDENTITY_TOKEN${tag === '' ? '' : `_${tag}`}`] = token;
      else if (tag === '') Object.assign(all, shapes[kind].environment(identity, folder, this.runId));
    }
    for (const kind of identityKinds) {
      const own = this.identities.filter((one) => one.kind === kind);
      const [first] = own;
      if (kind === 'token' || !first) continue;
      const entry = (identity: GivenIdentity) => shapes[kind].entry(identity, relative);
      const untagged = own.find(({ tag }) => tag === '');
      // The documented type of the variable has a default entry in any case.
      const blank = Object.fromEntries(Object.keys(entry(first)).map((name) => [name, '']));
      const aliases = own.filter(({ tag }) => tag !== '').map((one) => [one.tag, entry(one)]);
      const value = { default: untagged ? entry(untagged) : blank, aliases: Object.fromEntries(aliases) };
      all[`TF_VAR_tfc_${kind}_dynamic_credentials`] = JSON.stringify(value)
        .replaceAll('${', '$${')
        .replaceAll('%{', '%%{');
    }
    return all;
  }

  /** Replaces tokens by newer ones, by audience. */
  async renew(tokens: Readonly<Record<string, string>>): Promise<void> {
    for (const { identity, handle } of this.open) {
      const text = identity.kind === 'vault' ? undefined : tokens[identity.audience];
      if (text === undefined) continue;
      const bytes = Buffer.from(text);
      await handle.write(bytes, 0, bytes.length, 0);
      await handle.truncate(bytes.length);
    }
  }

  async close(): Promise<void> {
    for (const { handle } of this.open.splice(0)) await handle.close().catch(() => undefined);
  }
}
