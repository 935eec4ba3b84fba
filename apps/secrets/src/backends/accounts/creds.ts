import { z } from 'zod';
import { bool, commaList, duration, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { refuse } from '../../sdk/refuse';
import { secret } from '../../sdk/reply';
import { withIntent } from '../../sdk/storage';
import { accountName } from './account-name';
import type { AccountsClient, ClusterObject } from './accounts-client';
import { type AccountsConfig, configInForce } from './config';
import { type AccountsRole, namespaceSelector, roles, rulesOf } from './role';

const group = 'rbac.authorization.k8s.io';
const namespaceRule = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** The requested namespace, or the only namespace of the role. Throws `invalid` if the role does not allow it. */
async function allowedNamespace(
  client: AccountsClient,
  config: AccountsConfig,
  role: AccountsRole,
  requestedNamespace: string,
) {
  const { allowed_kubernetes_namespaces: allowed, allowed_kubernetes_namespace_selector: selector } = role;
  const [only, ...more] = allowed;
  const namespace = requestedNamespace || (selector === '' && more.length === 0 && only !== '*' ? only : undefined);
  if (namespace === undefined) {
    refuse(
      "'kubernetes_namespace' is required unless the Kubernetes secrets engine role has a single namespace specified",
    );
  }
  const no = () =>
    refuse(
      `kubernetes_namespace '${namespace}' is not present in role's allowed_kubernetes_namespaces or does not match role's label selector allowed_kubernetes_namespace_selector`,
    );
  if (!namespaceRule.test(namespace)) no();
  if (allowed.includes('*') || allowed.includes(namespace)) return namespace;
  const labels = selector === '' ? undefined : await client.labelsOf(config, namespace);
  return labels && namespaceSelector(selector)(labels) ? namespace : no();
}

interface WantedAccount {
  readonly role: AccountsRole;
  readonly namespace: string;
  readonly name: string;
  readonly wholeCluster: boolean;
}

/** The objects to create for an account, in order. */
function objectsOf({
  role,
  namespace,
  name,
  wholeCluster,
}: WantedAccount): readonly { object: ClusterObject; body: object }[] {
  const metadata = {
    name,
    labels: {
      ...role.extra_labels,
      'app.kubernetes.io/managed-by': 'keystead',
      'app.kubernetes.io/created-by': 'keystead',
    },
    annotations: role.extra_annotations,
  };
  const makesRole = role.generated_role_rules !== '';
  const isCluster = role.kubernetes_role_type === 'ClusterRole';
  const at = (kind: ClusterObject['kind']): ClusterObject => ({ kind, namespace, name });
  const account = { object: at('serviceaccounts'), body: { apiVersion: 'v1', kind: 'ServiceAccount', metadata } };
  const parameters = {
    object: at(isCluster ? 'clusterroles' : 'roles'),
    body: {
      apiVersion: `${group}/v1`,
      kind: role.kubernetes_role_type,
      metadata,
      rules: makesRole ? rulesOf(role.generated_role_rules) : [],
    },
  };
  const binding = {
    object: at(wholeCluster ? 'clusterrolebindings' : 'rolebindings'),
    body: {
      apiVersion: `${group}/v1`,
      kind: wholeCluster ? 'ClusterRoleBinding' : 'RoleBinding',
      metadata,
      roleRef: { apiGroup: group, kind: role.kubernetes_role_type, name: makesRole ? name : role.kubernetes_role_name },
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    },
  };
  return [account, ...(makesRole ? [parameters] : []), binding];
}

/** Deletes the created objects, the binding first. */
export async function removeObjects(
  client: AccountsClient,
  config: AccountsConfig,
  objects: readonly ClusterObject[],
): Promise<void> {
  for (const object of objects.toReversed()) await client.remove(config, object);
}

/** Tokens of accounts. */
export const credsPath = (client: AccountsClient) =>
  path('creds/:name', {
    folds: { name: 'case' },
    summary: 'Service account tokens, and service accounts created on demand.',
    write: {
      summary:
        'Create a service account token. Depending on the role, also create the service account, its binding and its role. They are deleted when the lease ends.',
      operationId: 'generate-credentials',
      input: z.object({
        kubernetes_namespace: string()
          .optional()
          .describe('Namespace of the service account. Default: the role’s namespace, if it has only one.'),
        cluster_role_binding: bool()
          .optional()
          .describe('Use a ClusterRoleBinding, which gives the service account its rights in the whole cluster.'),
        ttl: duration().optional().describe('Lifetime of the token. Default: the role’s.'),
        audiences: commaList().optional().describe('Audiences of the token. Default: the role’s.'),
      }),
      output: z.object({
        service_account_name: z.string(),
        service_account_namespace: z.string(),
        service_account_token: z.string(),
      }),
      async run({ input, params, storage, caller, mount, nowMs }) {
        const role = await roles.require(storage, params.name, `role '${params.name}' does not exist`);
        const wholeCluster = input.cluster_role_binding ?? false;
        if (wholeCluster && role.kubernetes_role_type === 'Role') refuse('a ClusterRoleBinding cannot ref a Role');
        const config = await configInForce(storage);
        const namespace = await allowedNamespace(client, config, role, input.kubernetes_namespace ?? '');
        const most = Math.min(...[role.token_max_ttl, mount.maxLeaseTtlSeconds].filter((seconds) => seconds > 0));
        const ttlSeconds = Math.min((input.ttl ?? role.token_default_ttl) || mount.defaultLeaseTtlSeconds, most);
        const audiences = input.audiences ?? role.token_default_audiences;
        const tokenOf = (name: string) => client.token(config, namespace, name, { ttlSeconds, audiences });
        const existingAccount = role.service_account_name;
        const name = existingAccount || accountName(role.name_template, caller.displayName, params.name, nowMs);
        const plannedObjects = existingAccount === '' ? objectsOf({ role, namespace, name, wholeCluster }) : [];
        const objects = plannedObjects.map(({ object }) => object);
        const tokenReply =
          existingAccount === ''
            ? await withIntent(storage, { kind: 'objects', undo: { objects } }, async () => {
                for (const { object, body } of plannedObjects) await client.create(config, object, body);
                return tokenOf(name);
              })
            : await tokenOf(name);
        const lifetime = Math.max(1, Math.floor((tokenReply.expiresAtMs - nowMs) / 1000));
        return secret('service_account_token', {
          data: {
            service_account_name: name,
            service_account_namespace: namespace,
            service_account_token: tokenReply.token,
          },
          internal: { objects },
          ttlSeconds: lifetime,
          maxTtlSeconds: lifetime,
          renewable: false,
        });
      },
    },
  });
