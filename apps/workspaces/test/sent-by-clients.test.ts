import { describe, expect, it } from '@jest/globals';
import { Refusal } from '@keystead/refusal';
import type { Endpoint } from '../src/kernel/endpoints/endpoint';
import { resources } from '../src/resources/registry';

const version = 'version url sha official deprecated deprecated-reason enabled beta archs';
const variable = 'key value description category hcl sensitive';
const organization = `name email assessments-enforced session-remember session-timeout collaborator-auth-policy
  cost-estimation-enabled owners-team-saml-role-id send-passing-statuses-for-untriggered-speculative-plans
  aggregated-commit-status-enabled speculative-plan-management-enabled allow-force-delete-workspaces default-execution-mode
  enforce-hyok stacks-enabled registry-monorepo-support-enabled user-tokens-enabled max-ttl-enabled`;
const rights = `manage-policies manage-policy-overrides delegate-policy-overrides manage-workspaces manage-vcs-settings
  manage-providers manage-modules manage-run-tasks manage-projects read-workspaces read-projects manage-membership manage-teams
  manage-organization-access access-secret-teams manage-agent-pools`;
const team = `name sso-team-id visibility allow-member-token-management ${rights.replace(/\S+/g, 'organization-access.$&')}`;
const workspaceAccess = 'runs variables state-versions sentinel-mocks run-tasks policy-overrides';
const teamWorkspace = `access workspace-locking ${workspaceAccess}`;
const teamProject = `access project-access.settings project-access.teams project-access.variable-sets
  ${`create locking move delete ${workspaceAccess}`.replace(/\S+/g, 'workspace-access.$&')}`;
const overwrites = 'setting-overwrites.execution-mode setting-overwrites.agent-pool';
const project = `name description auto-destroy-activity-duration default-execution-mode default-agent-pool-id &tag-bindings
  setting-overwrites.default-execution-mode setting-overwrites.default-agent-pool`;
const workspace = `name description agent-pool-id allow-destroy-plan assessments-enabled auto-apply auto-apply-run-trigger
  auto-destroy-at auto-destroy-activity-duration inherits-project-auto-destroy execution-mode file-triggers-enabled
  global-remote-state project-remote-state operations queue-all-runs speculative-enabled structured-run-output-enabled
  terraform-version trigger-prefixes trigger-patterns working-directory hyok-enabled &project &tag-bindings ${overwrites}
  ${'branch identifier ingress-submodules oauth-token-id tags-regex github-app-installation-id'.replace(/\S+/g, 'vcs-repo.$&')}`;
const pool = 'name organization-scoped &allowed-workspaces &allowed-projects &excluded-workspaces';
const notification = 'enabled name token triggers url email-addresses email-all-members &users';
const scope = '&subscribable destination-type';
const saml = `enabled debug idp-cert certificate private-key slo-endpoint-url sso-endpoint-url attr-username attr-groups
  attr-site-admin site-admin-role sso-api-token-session-timeout team-management-enabled authn-requests-signed
  want-assertions-signed signature-signing-method signature-digest-method provider-type`;

/** Attributes (`a.b` reaches inside) and relationships (`&name`) that clients of this API send, by operation. */
const sent: Readonly<Record<string, string>> = {
  'PATCH /account/update': 'username email',
  'PATCH /account/password': 'current_password password password_confirmation',
  'POST /organizations': organization,
  'PATCH /organizations/:organization_name': `${organization} &default-agent-pool`,
  'POST /organizations/:organization_name/teams': team,
  'PATCH /teams/:team_id': team,
  'POST /organizations/:organization_name/organization-memberships': 'email &teams',
  'POST /users/:user_id/authentication-tokens': 'description expired-at',
  'POST /teams/:team_id/authentication-token': 'expired-at',
  'POST /teams/:team_id/authentication-tokens': 'description expired-at',
  'POST /organizations/:organization_name/authentication-token': 'expired-at',
  'PATCH /admin/saml-settings': saml,
  'PATCH /admin/scim-settings': 'enabled paused site-admin-group-scim-id',
  'POST /admin/scim-tokens': 'description expired-at',
  'POST /admin/teams/:team_id/scim-group-mapping': 'scim-group-id',
  'PATCH /admin/teams/:team_id/scim-group-mapping': 'scim-sync-paused',
  'POST /organizations/:organization_name/projects': project,
  'PATCH /projects/:project_id': project,
  'POST /organizations/:organization_name/ssh-keys': 'name value',
  'PATCH /ssh-keys/:ssh_key_id': 'name',
  'POST /organizations/:organization_name/oauth-clients': `name api-url http-url key oauth-token-string private-key secret
    rsa-public-key service-provider organization-scoped &projects &agent-pool`,
  'PATCH /oauth-clients/:oauth_client_id': `name key secret rsa-public-key oauth-token-string organization-scoped &agent-pool`,
  'PATCH /oauth-tokens/:oauth_token_id': 'ssh-key',
  'POST /organizations/:organization_name/agent-pools': pool,
  'PATCH /agent-pools/:pool_id': pool,
  'POST /agent-pools/:pool_id/authentication-tokens': 'description',
  'POST /organizations/:organization_name/workspaces': `${workspace} source-name source-url migration-environment &tags`,
  'PATCH /workspaces/:workspace_id': workspace,
  'PATCH /organizations/:organization_name/workspaces/:name': workspace,
  'POST /organizations/:organization_name/reserved-tag-keys': 'key disable-overrides',
  'PATCH /reserved-tag-keys/:reserved_tag_key_id': 'key disable-overrides',
  'POST /team-workspaces': `${teamWorkspace} &team &workspace`,
  'PATCH /team-workspaces/:team_workspace_id': teamWorkspace,
  'POST /team-projects': `${teamProject} &team &project`,
  'PATCH /team-projects/:team_project_id': teamProject,
  'POST /workspaces/:workspace_id/vars': variable,
  'PATCH /workspaces/:workspace_id/vars/:variable_id': variable,
  'POST /vars': `${variable} &workspace`,
  'PATCH /vars/:variable_id': variable,
  'POST /organizations/:organization_name/varsets':
    'name description global priority &parent &workspaces &projects &vars &stacks',
  'PATCH /varsets/:varset_id': 'name description global priority &workspaces &stacks',
  'POST /varsets/:varset_id/relationships/vars': variable,
  'PATCH /varsets/:varset_id/relationships/vars/:variable_id': 'key value description hcl sensitive',
  'POST /workspaces/:workspace_id/state-versions': 'lineage md5 serial state force json-state json-state-outputs &run',
  'POST /runs': `allow-config-generation allow-empty-apply terraform-version plan-only is-destroy refresh refresh-only save-plan
    message target-addrs replace-addrs policy-paths auto-apply variables invoke-action-addrs debugging-mode
    &configuration-version &workspace`,
  'POST /workspaces/:workspace_id/run-triggers': '&sourceable',
  'POST /workspaces/:workspace_id/notification-configurations': `${notification} ${scope}`,
  'POST /projects/:project_id/notification-configurations': `${notification} ${scope}`,
  'PATCH /notification-configurations/:notification_configuration_id': notification,
  'POST /plan-exports': 'data-type &plan',
  'POST /runs/:run_id/comments': 'body',
  'POST /workspaces/:workspace_id/configuration-versions': 'auto-queue-runs speculative provisional',
  'POST /organizations/:organization_name/relationships/data-retention-policy': 'delete-older-than-n-days',
  'POST /workspaces/:workspace_id/relationships/data-retention-policy': 'delete-older-than-n-days',
  'PATCH /admin/organizations/:organization_name': `access-beta-tools global-module-sharing global-provider-sharing is-disabled
    terraform-build-worker-apply-timeout terraform-build-worker-plan-timeout apply-timeout plan-timeout
    terraform-worker-sudo-enabled workspace-limit`,
  'POST /admin/terraform-versions': version,
  'PATCH /admin/terraform-versions/:version_id': version,
  'PATCH /admin/general-settings': `limit-user-organization-creation api-rate-limiting-enabled api-rate-limit
    send-passing-statuses-for-untriggered-speculative-plans allow-speculative-plans-on-pull-requests-from-forks
    default-remote-state-access apply-timeout plan-timeout`,
  'PATCH /admin/cost-estimation-settings': `enabled aws-access-key-id aws-secret-key gcp-credentials azure-client-id
    azure-client-secret azure-subscription-id azure-tenant-id`,
};

/** Ignored attributes, with the reason. `docs/not-built.md` also lists them. */
const passedOver: Readonly<Record<string, string>> = {
  'stacks-enabled': 'sent with every organization that go-tfe makes for its tests',
};

/** Tests whether the value is read: of values of every type, some would be refused. */
const isRead = ({ body }: Endpoint, name: string): boolean =>
  [7, -1, 'no such word\u0000', true, ['x'], [{}], { x: 1 }].some((value) => {
    const steps = name.replace('&', '').split('.');
    const inner = steps.reduceRight<unknown>((held, step) => ({ [step]: held }), value);
    const part = name.startsWith('&') ? 'relationships' : 'attributes';
    const types = Object(body!.jsonSchema()).properties?.data?.properties?.type?.enum;
    try {
      body!.parse({ data: { type: types?.[0], [part]: inner } }, { aliases: true, edition: 'hosted' });
      return false;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const at = ['data', part, ...steps].join('/');
      return (error.issues ?? []).some(({ path }) => `${path.join('/')}/`.startsWith(`${at}/`));
    }
  });

describe('requests of clients of this API', () => {
  const operations = new Map(
    resources.flatMap(({ endpoints }) =>
      endpoints.map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint]),
    ),
  );

  it.each(Object.entries(sent))(
    'to %s is accepted, or refused by name, or listed with why it is ignored',
    (name, text) => {
      const operation = operations.get(name)!;
      const names = text.split(/\s+/).filter((each) => !(each in passedOver));
      expect(names.filter((each) => !isRead(operation, each))).toEqual([]);
      expect(isRead(operation, 'unheard-of')).toBe(false);
    },
  );
});
