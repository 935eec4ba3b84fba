import type { FieldRow } from '../field-rows';
import type { FormRecord } from '../record-form';

/** A role as the API shows it. */
export interface KubernetesRole {
  readonly name: string;
  readonly allowed_kubernetes_namespaces: readonly string[];
  readonly allowed_kubernetes_namespace_selector: string;
  readonly service_account_name: string;
  readonly kubernetes_role_name: string;
  readonly generated_role_rules: string;
  readonly kubernetes_role_type: 'Role' | 'ClusterRole';
  readonly token_default_ttl: number;
  readonly token_max_ttl: number;
}

/** What a role creates: only a token, also a bound service account, or also a cluster role. */
export const makes = {
  token: 'a token of an existing service account',
  account: 'a service account, bound to an existing role',
  role: 'a service account and a role for it',
} as const;
type Making = keyof typeof makes;

export const makingOf = (role: KubernetesRole): Making =>
  role.service_account_name !== '' ? 'token' : role.kubernetes_role_name !== '' ? 'account' : 'role';

const none = { service_account_name: '', kubernetes_role_name: '', generated_role_rules: '' };
const rules = `rules:
  - apiGroups: [""]
    resources: ["pods"]
    verbs: ["get", "list"]
`;

const making: FieldRow = {
  name: 'making',
  label: 'Creates',
  as: 'choice',
  options: Object.entries(makes).map(([value, label]) => ({ value, label })),
  also: (chosen) => (chosen === 'role' ? { ...none, generated_role_rules: rules } : none),
};
const roleType: FieldRow = {
  name: 'kubernetes_role_type',
  label: 'Kubernetes role type',
  as: 'choice',
  options: ['Role', 'ClusterRole'],
};
const madeBy: Readonly<Record<Making, readonly FieldRow[]>> = {
  token: [{ name: 'service_account_name', label: 'Service account name', required: true, placeholder: 'deployer' }],
  account: [
    { name: 'kubernetes_role_name', label: 'Kubernetes role name', required: true, placeholder: 'edit' },
    roleType,
  ],
  role: [
    { name: 'generated_role_rules', label: 'Role rules', as: 'lines', required: true, hint: 'As YAML or JSON.' },
    roleType,
  ],
};

/** The fields of a role. */
export const roleGroups = ({ making: chosen }: FormRecord) =>
  [
    {
      rows: [
        making,
        ...madeBy[chosen as Making],
        {
          name: 'allowed_kubernetes_namespaces',
          label: 'Allowed Kubernetes namespaces',
          as: 'names',
          placeholder: 'shop',
          hint: 'Press Enter after each; * allows any.',
        },
        { name: 'token_default_ttl', label: 'Token default TTL', as: 'ttl', hint: 'Used if a request names no TTL.' },
        { name: 'token_max_ttl', label: 'Token maximum TTL', as: 'ttl' },
      ],
    },
    {
      title: 'Advanced',
      rows: [
        {
          name: 'allowed_kubernetes_namespace_selector',
          label: 'Allowed Kubernetes namespace selector',
          placeholder: '{"matchLabels": {"team": "shop"}}',
          hint: 'Or a selector of namespaces by their labels, as JSON or YAML.',
        },
        {
          name: 'token_default_audiences',
          label: 'Token default audiences',
          as: 'names',
          hint: 'If empty, that of the cluster.',
        },
        ...(chosen === 'token'
          ? []
          : ([
              {
                name: 'name_template',
                label: 'Name template',
                placeholder: 'v-{{.RoleName}}-{{random 20}}',
                hint: 'Template for the names of created objects.',
              },
              { name: 'extra_labels', label: 'Extra labels', as: 'pairs', placeholder: 'team=shop' },
              { name: 'extra_annotations', label: 'Extra annotations', as: 'pairs', placeholder: 'owner=ana' },
            ] as const)),
      ],
    },
  ] as const satisfies readonly { readonly title?: string; readonly rows: readonly FieldRow[] }[];

export const newRole: FormRecord = {
  making: 'token',
  allowed_kubernetes_namespaces: [],
  kubernetes_role_type: 'Role',
  token_default_ttl: 3600,
  token_max_ttl: 28_800,
};
