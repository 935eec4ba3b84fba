import { z } from 'zod';
import { isObject } from '../../sdk/coerce';
import { collection } from '../../sdk/collection';
import { announced, commaList, document, duration, keyValues, string } from '../../sdk/fields';
import { labelSelector, readObject } from '../../sdk/label-selector';
import { recordFields } from '../../sdk/record-fields';
import { namesPath, recordPath } from '../../sdk/records';
import { refuse } from '../../sdk/refuse';
import { empty } from '../../sdk/reply';
import { checkTemplate } from './account-name';

const fields = recordFields({
  allowed_kubernetes_namespaces: [commaList().describe('Namespaces that requests may name; * allows all.'), []],
  allowed_kubernetes_namespace_selector: [
    document(string()).describe(
      'Also allows namespaces with these labels, as JSON or YAML: {"matchLabels": {"team": "a"}}.',
    ),
    '',
  ],
  token_max_ttl: [duration().describe('Maximum lifetime of tokens. 0: the maximum of the mount.'), 0],
  token_default_ttl: [duration().describe('Default lifetime of tokens. 0: the default of the mount.'), 0],
  token_default_audiences: [commaList().describe('Default audiences of tokens.'), []],
  service_account_name: [
    string().describe('Name of an existing service account: each request creates a token for it.'),
    '',
  ],
  kubernetes_role_name: [
    string().describe('Name of an existing Kubernetes role: each request creates a service account bound to it.'),
    '',
  ],
  generated_role_rules: [
    document(string()).describe(
      'Rules of a Kubernetes role, as JSON or YAML: each request creates a role and a service account.',
    ),
    '',
  ],
  kubernetes_role_type: [
    announced(string(), { enum: ['Role', 'ClusterRole'] }).describe(
      'Kind of the Kubernetes role: Role or ClusterRole.',
    ),
    'Role',
  ],
  name_template: [
    document(string()).describe('Template for the names of created objects; it can use DisplayName and RoleName.'),
    '',
  ],
  extra_labels: [keyValues().describe('Labels of created objects.'), {}],
  extra_annotations: [keyValues().describe('Annotations of created objects.'), {}],
});

/** A role as stored. */
export type AccountsRole = z.output<typeof fields.input>;

/** The roles of a mount; their names ignore case. */
export const roles = collection('role/', fields.input);

/** The names of the roles. */
export const roleListPath = namesPath('roles', roles, { summary: 'The roles of this mount.', list: 'List the roles.' });

/** One role. */
export const rolePath = recordPath('roles/:name', roles, {
  folds: { name: 'case' },
  summary: 'A role: which service accounts and tokens may be requested.',
  read: {
    summary: 'Read a role.',
    output: fields.output.extend({ name: z.string() }),
    show: (role, { params }) => ({ name: params.name, ...role }),
  },
  write: {
    summary: 'Create a role, or change some of its fields.',
    update: 'merge',
    defaults: fields.defaults,
    input: fields.input,
    run({ params, input, storage }) {
      roles.put(storage, params.name, checkedRole(input));
      return empty;
    },
  },
  delete: 'Delete a role. What it created is removed when its leases end.',
});

/** The rules for a generated role. Throws `invalid` for malformed text. */
export function rulesOf(text: string): readonly object[] {
  const wrong = (): never => refuse("failed to parse 'generated_role_rules' as k8s.io/api/rbac/v1/Policy object");
  const { rules } = readObject(text) ?? wrong();
  if (!Array.isArray(rules) || rules.length === 0 || !rules.every(isObject)) return wrong();
  return rules;
}

/** Whether the labels of a namespace match the role. Throws `invalid` for an invalid selector. */
export const namespaceSelector = (text: string) =>
  labelSelector(text, (why) =>
    refuse(
      `failed to parse 'allowed_kubernetes_namespace_selector' as k8s.io/api/meta/v1/LabelSelector object: ${why}`,
    ),
  );

const nameRule = /^[a-z0-9]([-a-z0-9.:]*[a-z0-9])?$/;

function checkedRole(role: AccountsRole): AccountsRole {
  const { service_account_name: account, kubernetes_role_name: bound, generated_role_rules: rules } = role;
  if (role.allowed_kubernetes_namespaces.length === 0 && role.allowed_kubernetes_namespace_selector === '') {
    refuse('one (at least) of allowed_kubernetes_namespaces or allowed_kubernetes_namespace_selector must be set');
  }
  if ([account, bound, rules].filter((text) => text !== '').length !== 1) {
    refuse('one (and only one) of service_account_name, kubernetes_role_name or generated_role_rules must be set');
  }
  if (role.token_max_ttl > 0 && role.token_default_ttl > role.token_max_ttl) {
    refuse(`token_default_ttl ${role.token_default_ttl}s cannot be greater than token_max_ttl ${role.token_max_ttl}s`);
  }
  const type = ['Role', 'ClusterRole'].find((one) => one.toLowerCase() === role.kubernetes_role_type.toLowerCase());
  if (type === undefined) refuse("kubernetes_role_type must be either 'Role' or 'ClusterRole'");
  for (const name of [account, bound]) {
    if (name !== '' && !nameRule.test(name)) refuse(`${JSON.stringify(name)} is not a valid name of a cluster role`);
  }
  if (role.allowed_kubernetes_namespace_selector !== '') namespaceSelector(role.allowed_kubernetes_namespace_selector);
  if (rules !== '') rulesOf(rules);
  checkTemplate(role.name_template);
  return { ...role, kubernetes_role_type: type };
}
