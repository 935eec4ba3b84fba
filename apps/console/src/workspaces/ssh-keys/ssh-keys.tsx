import { Copied } from '../../design/copy';
import { TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { Empty } from '../../design/page';
import { rule, useChange, useOrganization, useOrganizationName, useRead } from '../api';
import { useFilters } from '../filters';
import { AddButton, type Adding } from '../parts/adding';
import { fieldsOf, useDraft } from '../parts/draft';
import { OrganizationPage } from '../parts/organization-page';
import { RemoveButton } from '../parts/remove-button';
import { ResourceTable } from '../parts/resource-table';

/** Private keys that runs use to fetch modules. */
export function SshKeys() {
  const name = useOrganizationName();
  const organization = useOrganization();
  const [filters] = useFilters<'page'>();
  const query = { 'page[number]': Number(filters.page ?? 1) };
  const keys = useRead(['ssh-keys', name, query], (api) =>
    api.GET('/api/v2/organizations/{organization_name}/ssh-keys', {
      params: { path: { organization_name: name }, query },
    }),
  );
  const forbidden = rule(organization.data?.data?.attributes.permissions['can-update-ssh-keys'], 'can-update-ssh-keys');
  const adding: Adding = {
    label: 'Add SSH key',
    forbidden,
    form: (close) => <NewKey organization={name} onClose={close} />,
  };
  return (
    <OrganizationPage
      title="SSH keys"
      path="ssh-keys"
      about={<p className="second">Workspaces use an SSH key to fetch modules from Git. Keys cannot be read back.</p>}
      adding={adding}
    >
      <ResourceTable
        label="SSH keys"
        query={keys}
        paged
        outline={2}
        empty={
          <Empty action={<AddButton {...adding} />} command={'ssh-keygen -t ed25519 -N "" -f modules'}>
            Modules in private repositories need a key without a passphrase. Generate one, add its public key to the
            repository, and store its private key here.
          </Empty>
        }
        columns={[
          { head: 'Name', cell: ({ attributes }) => attributes.name },
          { head: 'Type', className: 'tight', cell: ({ attributes }) => attributes.kind },
          {
            head: 'Fingerprint',
            cell: ({ attributes: { fingerprint } }) =>
              fingerprint === null ? null : <Copied text={fingerprint} what="fingerprint" />,
          },
          { head: 'ID', className: 'tight', cell: ({ id }) => <Copied text={id} what="key id" /> },
          {
            head: '',
            className: 'tight',
            cell: ({ id, attributes }) => (
              <RemoveButton
                text="Delete"
                label={`Delete ${attributes.name}`}
                title={`Delete ${attributes.name}?`}
                name={attributes.name}
                forbidden={forbidden}
                call={(api) => api.DELETE('/api/v2/ssh-keys/{ssh_key_id}', { params: { path: { ssh_key_id: id } } })}
              >
                <p>Workspaces that use it will have no key, and their next run may fail to fetch modules.</p>
              </RemoveButton>
            ),
          },
        ]}
      />
    </OrganizationPage>
  );
}

function NewKey({ organization, onClose }: { readonly organization: string; readonly onClose: () => void }) {
  const draft = useDraft({ name: '', value: '' });
  const add = useChange(
    (api) =>
      api.POST('/api/v2/organizations/{organization_name}/ssh-keys', {
        params: { path: { organization_name: organization } },
        body: { data: { type: 'ssh-keys', attributes: draft.value } },
      }),
    onClose,
  );
  const send = () => {
    add.mutate();
    draft.set('value')('');
  };
  const { field } = fieldsOf(draft, add.error);
  return (
    <FormDialog title="Add SSH key" action="Add SSH key" change={add} onSend={send} onBack={onClose}>
      <TextField label="Name" required autoFocus {...field('name')} />
      <TextField
        label="Private key"
        required
        rows={6}
        masked
        hint="With its first and last line, and without a passphrase."
        {...field('value')}
      />
    </FormDialog>
  );
}
