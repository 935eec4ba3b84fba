/** A setting of the whole program: a flag, and environment variables; the first one that is set is used. */
export interface GlobalSetting {
  readonly flag?: string;
  readonly also?: readonly string[];
  readonly variables: readonly string[];
  readonly help: string;
}

const named = (name: string): readonly string[] => [`SERVICE_${name}`, `BAO_${name}`, `VAULT_${name}`];

/**
 * The service's address, the token and the output format. Flags take precedence over the environment, and our own names
 * over those of other programs.
 */
export const globalSettings = {
  address: {
    flag: '--address <url>',
    variables: named('ADDR'),
    help: 'address of the service [http://127.0.0.1:8200]',
  },
  token: { variables: named('TOKEN'), help: 'token to use; takes precedence over the file that login writes' },
  tokenFile: {
    flag: '--token-file <file>',
    variables: ['SERVICE_TOKEN_FILE'],
    help: 'file in which login stores the token [~/.keystead/token]',
  },
  namespace: {
    flag: '--namespace <path>',
    also: ['--ns'],
    variables: named('NAMESPACE'),
    help: 'namespace to work in',
  },
  format: { flag: '--format <format>', variables: named('FORMAT'), help: 'table, json or yaml [table]' },
  wrapTtl: {
    flag: '--wrap-ttl <duration>',
    variables: named('WRAP_TTL'),
    help: 'wrap the response in a token with this lifetime',
  },
  caCert: {
    flag: '--ca-cert <file>',
    variables: named('CACERT'),
    help: 'PEM file of the CA that issued the service’s certificate',
  },
  caPath: { flag: '--ca-path <folder>', variables: named('CAPATH'), help: 'folder of PEM files of CAs' },
  clientCert: { flag: '--client-cert <file>', variables: named('CLIENT_CERT'), help: 'PEM client certificate' },
  clientKey: {
    flag: '--client-key <file>',
    variables: named('CLIENT_KEY'),
    help: 'private key of the client certificate',
  },
  tlsServerName: {
    flag: '--tls-server-name <name>',
    variables: named('TLS_SERVER_NAME'),
    help: 'host name in the service’s certificate, if it differs from the address',
  },
  tlsSkipVerify: {
    flag: '--tls-skip-verify',
    variables: named('SKIP_VERIFY'),
    help: 'trust any certificate: anyone on the network path can read the token',
  },
} as const satisfies Record<string, GlobalSetting>;

/** The same for the workspace service. It has no separate flags; `--address` is also used for it. */
export const workspaceSettings = {
  address: {
    variables: ['WORKSPACES_ADDR', 'TFE_ADDRESS', 'TFE_HOSTNAME', 'TF_CLOUD_HOSTNAME'],
    help: 'address of the workspace service; a bare host means https',
  },
  token: {
    variables: ['WORKSPACES_TOKEN', 'TFE_TOKEN'],
    help: 'token of the workspace service; otherwise WORKSPACES_TOKEN_FILE, then TF_TOKEN_<host> with _ for . and __ for -',
  },
  organization: { variables: ['WORKSPACES_ORGANIZATION', 'TF_CLOUD_ORGANIZATION'], help: 'organization to work in' },
  workspace: { variables: ['WORKSPACES_WORKSPACE', 'TF_WORKSPACE'], help: 'workspace to work in' },
} as const satisfies Record<string, GlobalSetting>;

/** The lines of `--help` about the environment. */
export function describeVariables(): string {
  const lines = [...Object.values(globalSettings), ...Object.values(workspaceSettings)].map(
    ({ variables, help }: GlobalSetting): [string, string] => [variables.join(', '), help],
  );
  return lines.map(([names, help]) => `  ${names}\n      ${help}`).join('\n');
}
