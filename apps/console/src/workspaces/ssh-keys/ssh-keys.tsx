import { useState } from 'react';
import { Button } from '../../design/button';
import { Copied } from '../../design/copy';
import { TextField } from '../../design/field';
import { Form } from '../../design/form';
import { Empty, PageHead } from '../../design/page';
import { organizationCrumbs, rule, useChange, useOrganization, useOrganizationName, useRead } from '../api';
import { useFilters } from '../filters';
import { fieldError } from '../parts/draft';
import { Loaded } from '../parts/loaded';
import { Pages } from '../parts/pages';
import { RemoveButton } from '../parts/remove-button';
import { SameByApi } from '../parts/same-by-api';
import { Table } from '../parts/table';

/** Private keys with which runs fetch modules. */
export function SshKeys() {
  const name = useOrganizationName();
  const organization = useOrganization();
  const [filters, setFilters] = useFilters<'page'>();
  const [adds, setAdds] = useState(false);
  const query = { 'page[number]': Number(filters.page ?? 1) };
  const keys = useRead(['ssh-keys', name, query], (api) =>
    api.GET('/api/v2/organizations/{organization_name}/ssh-keys', {
      params: { path: { organization_name: name }, query },
    }),
  );
  const forbidden = rule(organization.data?.data?.attributes.permissions['can-update-ssh-keys'], 'can-update-ssh-keys');
  const button = (
    <Button kind="primary" forbidden={forbidden} onClick={() => setAdds(true)}>
      Add SSH key
    </Button>
  );
  return (
    <div className="stack">
      <PageHead title="SSH keys" crumbs={organizationCrumbs(name, { label: 'SSH keys' })} actions={button}>
        <p className="second">A workspace that was given one fetches its modules with it. Nobody can read it back.</p>
      </PageHead>
      {adds ? <NewKey organization={name} onClose={() => setAdds(false)} /> : null}
      <Loaded query={keys} rows={2}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty command={'ssh-keygen -t ed25519 -N "" -f modules'}>
              Modules in private repositories need a key without a passphrase. Make one, give its public half to the
              repository, and store its private half here.
            </Empty>
          ) : (
            <>
              <Table label="SSH keys" head={['Name', 'Kind', 'Fingerprint', 'Id', '']}>
                {data.map((key) => (
                  <tr key={key.id}>
                    <td>{key.attributes.name}</td>
                    <td className="tight">{key.attributes.kind}</td>
                    <td>
                      {key.attributes.fingerprint === null ? null : (
                        <Copied text={key.attributes.fingerprint} what="fingerprint" />
                      )}
                    </td>
                    <td className="tight">
                      <Copied text={key.id} what="key id" />
                    </td>
                    <td className="tight">
                      <RemoveButton
                        text="Delete"
                        label={`Delete ${key.attributes.name}`}
                        title={`Delete ${key.attributes.name}?`}
                        name={key.attributes.name}
                        forbidden={forbidden}
                        call={(api) =>
                          api.DELETE('/api/v2/ssh-keys/{ssh_key_id}', { params: { path: { ssh_key_id: key.id } } })
                        }
                      >
                        <p>Workspaces that use it have none then, and their next run may not find its modules.</p>
                      </RemoveButton>
                    </td>
                  </tr>
                ))}
              </Table>
              <Pages pagination={meta?.pagination} onPage={(page) => setFilters({ page })} />
            </>
          )
        }
      </Loaded>
      <SameByApi path={`organizations/${name}/ssh-keys`} />
    </div>
  );
}

function NewKey({ organization, onClose }: { readonly organization: string; readonly onClose: () => void }) {
  const [name, setName] = useState('');
  const [value, setValue] = useState('');
  const add = useChange(
    (api) =>
      api.POST('/api/v2/organizations/{organization_name}/ssh-keys', {
        params: { path: { organization_name: organization } },
        body: { data: { type: 'ssh-keys', attributes: { name, value } } },
      }),
    onClose,
  );
  const send = () => {
    add.mutate();
    setValue('');
  };
  return (
    <Form layout="panel" title="Add SSH key" action="Add key" change={add} onSend={send} onBack={onClose}>
      <TextField
        label="Name"
        required
        autoFocus
        value={name}
        onChange={setName}
        error={fieldError(add.error, 'name')}
      />
      <TextField
        label="Private key"
        required
        rows={6}
        masked
        value={value}
        onChange={setValue}
        error={fieldError(add.error, 'value')}
        hint="With its first and last line, and without a passphrase."
      />
    </Form>
  );
}
