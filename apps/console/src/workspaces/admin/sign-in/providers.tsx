import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Badge } from '../../../design/badge';
import { Button } from '../../../design/button';
import { Copied } from '../../../design/copy';
import { Form } from '../../../design/form';
import { Empty } from '../../../design/page';
import { useSession } from '../../../shell/session';
import { useChange, useRead } from '../../api';
import { useFilters } from '../../filters';
import { Loaded } from '../../parts/loaded';
import { Pages } from '../../parts/pages';
import { SameByApi } from '../../parts/same-by-api';
import { Table } from '../../parts/table';
import { AdminPage } from '../frame';
import { newProvider, ProviderFields, sentProvider } from './provider-form';

/** The providers at which people sign in. */
export function SignInProviders() {
  const { session } = useSession();
  const [filters, setFilters] = useFilters<'page'>();
  const [adds, setAdds] = useState(false);
  const query = { 'page[number]': Number(filters.page ?? 1) };
  const providers = useRead(
    ['admin', 'sign-in-providers', query],
    (api) => api.GET('/api/v2/admin/sign-in-providers', { params: { query } }),
    { enabled: session['is-site-admin'] },
  );
  return (
    <AdminPage
      title="Sign-in providers"
      actions={
        <Button kind="primary" onClick={() => setAdds(!adds)}>
          Add provider
        </Button>
      }
    >
      {adds ? <NewProvider onClose={() => setAdds(false)} /> : null}
      <Loaded query={providers} rows={2}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty>
              People sign in with a password until you add the OpenID provider of your company: then with the account
              that they have there, and its groups fill teams here.
            </Empty>
          ) : (
            <>
              <Table label="Sign-in providers" head={['Name', 'Issuer', 'State', 'Passwords']}>
                {data.map(({ id, attributes }) => (
                  <tr key={id}>
                    <td>
                      <Link to={`/admin/sign-in/${id}`}>{attributes.name}</Link>
                    </td>
                    <td>
                      <code>{attributes.issuer}</code>
                    </td>
                    <td className="tight">
                      {attributes.enabled ? <Badge tone="green">enabled</Badge> : <Badge>disabled</Badge>}
                    </td>
                    <td>{attributes['password-sign-in'] === 'allowed' ? 'allowed' : 'administrators alone'}</td>
                  </tr>
                ))}
              </Table>
              <Pages pagination={meta?.pagination} onPage={(page) => setFilters({ page })} />
            </>
          )
        }
      </Loaded>
      <SameByApi path="admin/sign-in-providers" />
    </AdminPage>
  );
}

function NewProvider({ onClose }: { readonly onClose: () => void }) {
  const navigate = useNavigate();
  const [value, setValue] = useState(newProvider);
  const add = useChange(
    (api) =>
      api.POST('/api/v2/admin/sign-in-providers', {
        body: { data: { type: 'sign-in-providers', attributes: sentProvider(value) } },
      }),
    ({ data }) => void navigate({ to: `/admin/sign-in/${data?.id}` }),
  );
  return (
    <Form
      layout="panel"
      title="Add provider"
      action="Add this provider"
      change={add}
      onSend={() => add.mutate()}
      onBack={onClose}
    >
      <p className="second">
        At the provider, make a confidential client for the code flow that may come back to{' '}
        <Copied text={`${location.origin}/ui/sign-in/callback`} what="address to come back to" />
      </p>
      <ProviderFields
        value={value}
        set={(name) => (typed) => setValue((before) => ({ ...before, [name]: typed }))}
        error={add.error}
        stored={false}
      />
    </Form>
  );
}
