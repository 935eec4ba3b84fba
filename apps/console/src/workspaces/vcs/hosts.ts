/** A kind of Git host, with the address of its API. */
interface Host {
  readonly label: string;
  /** The address, for hosts that exist at only one address. */
  readonly at?: { readonly http: string; readonly api: string };
  /** The usual address, for hosts that companies can also run on their own servers. */
  readonly usually?: string;
  /** The path of the API below the host's address. */
  readonly below?: string;
  /** Whether the host cannot be connected by OAuth in the browser, but only with a token. */
  readonly takesTokensAlone?: true;
  /** Whether the host is called with the key of an app instead of a token. */
  readonly isApp?: true;
}

/** The Git hosts that connections can be made to. */
export const hosts = {
  github: { label: 'GitHub', at: { http: 'https://github.com', api: 'https://api.github.com' } },
  github_app: { label: 'GitHub App', usually: 'https://github.com', below: '/api/v3', isApp: true },
  github_enterprise: { label: 'GitHub Enterprise', below: '/api/v3' },
  gitlab_hosted: { label: 'GitLab.com', at: { http: 'https://gitlab.com', api: 'https://gitlab.com/api/v4' } },
  gitlab_community_edition: { label: 'GitLab Community Edition', below: '/api/v4' },
  gitlab_enterprise_edition: { label: 'GitLab Enterprise Edition', below: '/api/v4' },
  gitea: { label: 'Gitea', below: '/api/v1' },
  forgejo: { label: 'Forgejo', below: '/api/v1' },
  bitbucket_hosted: {
    label: 'Bitbucket Cloud',
    at: { http: 'https://bitbucket.org', api: 'https://api.bitbucket.org/2.0' },
  },
  bitbucket_server: { label: 'Bitbucket Server', below: '' },
  bitbucket_data_center: { label: 'Bitbucket Data Center', below: '' },
  ado_services: {
    label: 'Azure DevOps Services',
    at: { http: 'https://dev.azure.com', api: 'https://dev.azure.com' },
  },
  ado_server: { label: 'Azure DevOps Server', below: '', takesTokensAlone: true },
} as const satisfies Readonly<Record<string, Host>>;

export type HostKind = keyof typeof hosts;

export const hostOf = (kind: HostKind): Host => hosts[kind];

/** The usual API address of a host. */
export function apiBelow(kind: HostKind, http: string): string {
  const { at, below } = hostOf(kind);
  if (at !== undefined) return at.api;
  // The API of GitHub Enterprise is below its address, that of GitHub at another address.
  if (kind === 'github_app' && http === hosts.github.at.http) return hosts.github.at.api;
  return below === undefined || http === '' ? '' : (http.endsWith('/') ? http.slice(0, -1) : http) + below;
}
