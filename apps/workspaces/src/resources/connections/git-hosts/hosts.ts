import { azureDevops, azureDevopsServer } from './azure-devops';
import { bitbucketCloud } from './bitbucket-cloud';
import { bitbucketDataCenter } from './bitbucket-data-center';
import type { GitHost } from './git-host';
import { gitea } from './gitea';
import { github } from './github';
import { githubApp } from './github-app';
import { gitlab } from './gitlab';
import { HostApi, type HostCall } from './host-api';

const hosts: ReadonlyMap<string, GitHost> = new Map([
  ['gitea', gitea],
  ['forgejo', gitea],
  ['github', github],
  ['github_enterprise', github],
  ['github_app', githubApp],
  ['gitlab_hosted', gitlab],
  ['gitlab_community_edition', gitlab],
  ['gitlab_enterprise_edition', gitlab],
  ['bitbucket_hosted', bitbucketCloud],
  ['bitbucket_server', bitbucketDataCenter],
  ['bitbucket_data_center', bitbucketDataCenter],
  ['ado_services', azureDevops],
  ['ado_server', azureDevopsServer],
]);

/** The API of a provider; undefined if this service cannot call it. */
export function hostOf(serviceProvider: string): GitHost | undefined {
  return hosts.get(serviceProvider);
}

/** The API of a provider, for one connection. */
export function apiOf(host: GitHost, apiUrl: string, token: string, call: HostCall): HostApi {
  return new HostApi(apiUrl, host.authorization(token), call);
}
