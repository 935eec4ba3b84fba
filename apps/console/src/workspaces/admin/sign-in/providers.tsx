import { Link } from '@tanstack/react-router';
import { Badge } from '../../../design/badge';
import { Empty } from '../../../design/page';
import { useSession } from '../../../shell/session';
import { useRead } from '../../api';
import { useFilters } from '../../filters';
import { AddButton, type Adding } from '../../parts/adding';
import { ResourceTable } from '../../parts/resource-table';
import { AdminPage } from '../frame';

/** The sign-in providers. */
export function SignInProviders() {
  const { session } = useSession();
  const [filters] = useFilters<'page'>();
  const query = { 'page[number]': Number(filters.page ?? 1) };
  const providers = useRead(
    ['admin', 'sign-in-providers', query],
    (api) => api.GET('/api/v2/admin/sign-in-providers', { params: { query } }),
    { enabled: session['is-site-admin'] },
  );
  const adding: Adding = { label: 'Add provider', to: '/admin/sign-in/new' };
  return (
    <AdminPage title="Sign-in providers" path="admin/sign-in-providers" adding={adding}>
      <ResourceTable
        label="Sign-in providers"
        query={providers}
        paged
        outline={2}
        empty={
          <Empty action={<AddButton {...adding} />}>
            People sign in with a password until you add the OpenID provider of your company: then with the account that
            they have there, and its groups fill teams here.
          </Empty>
        }
        columns={[
          {
            head: 'Name',
            cell: ({ id, attributes }) => <Link to={`/admin/sign-in/${id}`}>{attributes.name}</Link>,
          },
          { head: 'Issuer', cell: ({ attributes }) => <code>{attributes.issuer}</code> },
          {
            head: 'State',
            className: 'tight',
            cell: ({ attributes }) =>
              attributes.enabled ? <Badge tone="green">enabled</Badge> : <Badge>disabled</Badge>,
          },
          {
            head: 'Passwords',
            cell: ({ attributes }) =>
              attributes['password-sign-in'] === 'allowed' ? 'allowed' : 'only administrators',
          },
        ]}
      />
    </AdminPage>
  );
}
