import { Tabs } from '../../design/page';
import { rule, useOrganization } from '../api';

/** Why the caller may not manage policies; undefined if they may. */
export function useForbidden(): string | undefined {
  const may = useOrganization().data?.data?.attributes.permissions['can-update-polengine'];
  return rule(may, 'manage-policies');
}

/** The tabs of their lists. */
export function PolicyTabs({ org }: { readonly org: string }) {
  const at = `/organizations/${encodeURIComponent(org)}/policies`;
  return (
    <Tabs
      label="Policies"
      tabs={[
        { to: `${at}/sets`, label: 'Policy sets' },
        { to: at, label: 'Policies', exact: true },
        { to: `${at}/dry-runs`, label: 'Dry runs' },
      ]}
    />
  );
}
