import { z } from 'zod';
import { collection } from '../../sdk/collection';
import { commaList, document, oneOf, string } from '../../sdk/fields';
import { namesPath, recordPath } from '../../sdk/records';
import { refuse } from '../../sdk/refuse';
import { empty } from '../../sdk/reply';
import type { Soon } from '../../sdk/soon';
import type { Storage } from '../../sdk/storage';
import { boundByMount, loginFields, settleTokenParams, showTokenParams } from '../../sdk/token-params';
import { namespaceSelector } from './selector';

const sources = ['serviceaccount_uid', 'serviceaccount_name', ''] as const;

const fields = loginFields({
  bound_service_account_names: [commaList().describe('Service accounts that may log in; * matches any text.'), []],
  bound_service_account_namespaces: [
    commaList().describe('Kubernetes namespaces of these service accounts; * matches any text.'),
    [],
  ],
  bound_service_account_namespace_selector: [
    document(string()).describe(
      'Also allows namespaces with these labels, as JSON or YAML: {"matchLabels": {"team": "a"}}.',
    ),
    '',
  ],
  audience: [string().describe('Required audience of the token. Empty: any.'), ''],
  alias_name_source: [
    oneOf(sources, (source) => `unrecognized alias_name_source ${source}`).describe(
      'Name of the alias: serviceaccount_uid, or serviceaccount_name as <namespace>/<name>.',
    ),
    'serviceaccount_uid',
  ],
});
/** A role as stored. */
export type KubernetesRole = z.output<typeof fields.input>;
const roles = collection('role/', fields.input);

/** Finds a role; the case of names is ignored. */
export function findRole(storage: Storage, name: string): Soon<KubernetesRole | undefined> {
  return roles.find(storage, name.toLowerCase());
}

/** Lists roles. */
export const roleListPath = namesPath('role', roles, {
  summary: 'The roles of this method.',
  list: 'List the roles.',
});

/** Reads, writes and deletes a role. */
export const rolePath = recordPath('role/:name', roles, {
  folds: { name: 'case' },
  summary: 'A role: which service accounts may log in, and the settings of their tokens.',
  read: {
    summary: 'Read a role.',
    output: fields.output.extend({ audience: z.string().optional() }),
    show: (role) => ({
      bound_service_account_names: role.bound_service_account_names,
      bound_service_account_namespaces: role.bound_service_account_namespaces,
      bound_service_account_namespace_selector: role.bound_service_account_namespace_selector,
      ...(role.audience ? { audience: role.audience } : {}),
      alias_name_source: role.alias_name_source,
      ...showTokenParams(role),
    }),
  },
  write: {
    summary: 'Create a role, or change some of its fields.',
    update: 'merge',
    defaults: fields.defaults,
    input: fields.input,
    run({ params, input, fields: sent, storage, mount, warn }) {
      const normalized = settleTokenParams(input, sent);
      const role = { ...normalized, alias_name_source: normalized.alias_name_source || 'serviceaccount_uid' };
      checkRole(role);
      boundByMount(role, mount, warn);
      roles.put(storage, params.name, role);
      return empty;
    },
  },
  delete: 'Delete a role. Deleting an absent role succeeds; its tokens can no longer be renewed.',
});

function checkRole(role: KubernetesRole): void {
  const { bound_service_account_names: names, bound_service_account_namespaces: namespaces } = role;
  const selector = role.bound_service_account_namespace_selector;
  if (names.length === 0) refuse('"bound_service_account_names" can not be empty');
  if (namespaces.length === 0 && selector === '') {
    refuse(
      '"bound_service_account_namespaces" can not be empty if "bound_service_account_namespace_selector" is not set',
    );
  }
  for (const list of [names, namespaces]) {
    if (list.length > 1 && list.includes('*')) refuse('can not mix "*" with values');
  }
  if (selector !== '') namespaceSelector(selector);
}
