import { Link, useNavigate } from '@tanstack/react-router';
import { Badge } from '../../../design/badge';
import { Copied } from '../../../design/copy';
import { Form } from '../../../design/form';
import { Empty } from '../../../design/page';
import { useSession } from '../../../shell/session';
import { useChange, useRead } from '../../api';
import { useFilters } from '../../filters';
import { useDraft } from '../../parts/draft';
import { ResourceTable } from '../../parts/resource-table';
import { AdminPage } from '../frame';
import { newProvider, ProviderFields, sentProvider } from './provider-form';

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
  return (
    <AdminPage
      title="Sign-in providers"
      path="admin/sign-in-providers"
      adding={{ label: 'Add provider', form: (close) => <NewProvider onClose={close} /> }}
    >
      <ResourceTable
        label="Sign-in providers"
        query={providers}
        paged
        outline={2}
        empty={
          <Empty>
            Authentication policy a password until you add the OpenID provider of your company: then with the account
            that they have there, and its groups fill teams here.
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

function NewProvider({ onClose }: { readonly onClose: () => void }) {
  const navigate = useNavigate();
  const draft = useDraft(newProvider);
  const add = useChange(
    (api) =>
      api.POST('/api/v2/admin/sign-in-providers', {
        body: { data: { type: 'sign-in-providers', attributes: sentProvider(draft.value) } },
      }),
    ({ data }) => void navigate({ to: `/admin/sign-in/${data?.id}` }),
  );
  return (
    <Form
      layout="panel"
      title="Add provider"
      action="Add provider"
      change={add}
      onSend={() => add.mutate()}
      onBack={onClose}
    >
      <p className="second">
        At the provider, make a confidential client for the code flow that may come back to{' '}
        <Copied text={`${location.origin}/ui/sign-in/callback`} what="address to come back to" />
      </p>
      <ProviderFields draft={draft} error={add.error} stored={false} />
    </Form>
  );
}
