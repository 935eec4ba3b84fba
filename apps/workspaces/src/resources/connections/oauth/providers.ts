/** The version-control providers that connections can be made to, and their display names. */
export const providers = {
  github: 'GitHub',
  github_enterprise: 'GitHub Enterprise',
  gitlab_hosted: 'GitLab.com',
  gitlab_community_edition: 'GitLab Community Edition',
  gitlab_enterprise_edition: 'GitLab Enterprise Edition',
  ado_server: 'Azure DevOps Server',
  ado_services: 'Azure DevOps Services',
  bitbucket_hosted: 'Bitbucket Cloud',
  bitbucket_server: 'Bitbucket Server',
  bitbucket_data_center: 'Bitbucket Data Center',
  gitea: 'Gitea',
  forgejo: 'Forgejo',
  github_app: 'GitHub App',
} as const;
export type GitProvider = keyof typeof providers;
