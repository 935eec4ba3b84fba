import { Link, useNavigate } from '@tanstack/react-router';
import { TextField } from '../design/field';
import { FormDialog } from '../design/form';
import { Empty, PageHead, SameBy } from '../design/page';
import { Time } from '../design/time';
import { useChange, useRead } from './api';
import { fieldsOf, useDraft } from './parts/draft';
import { Creator } from './parts/opener';
import { ResourceTable } from './parts/resource-table';

/** The organizations that the caller may see. */
export function Organizations() {
  const organizations = useRead(['organizations'], (api) =>
    api.GET('/api/v2/organizations', { params: { query: { 'page[size]': 100 } } }),
  );
  const create = <Creator label="Create organization">{(close) => <NewOrganization onClose={close} />}</Creator>;
  return (
    <div className="stack">
      <PageHead title="Organizations" actions={create} />
      <ResourceTable
        label="Organizations"
        query={organizations}
        empty={
          <Empty action={create} command="keystead org create -email=ops@example.com NAME">
            An organization contains workspaces and the teams that use them.
          </Empty>
        }
        columns={[
          {
            head: 'Organization',
            cell: ({ attributes: { name } }) => (
              <Link to={`/organizations/${encodeURIComponent(name)}`} className="strong">
                {name}
              </Link>
            ),
          },
          { head: 'Email', className: 'wide-only', cell: ({ attributes }) => attributes.email },
          { head: 'Since', className: 'tight', cell: ({ attributes }) => <Time at={attributes['created-at']} /> },
        ]}
      />
      <SameBy api="GET /api/v2/organizations" command="keystead org list" />
    </div>
  );
}

function NewOrganization({ onClose }: { readonly onClose: () => void }) {
  const draft = useDraft({ name: '', email: '' });
  const navigate = useNavigate();
  const make = useChange(
    (api) => api.POST('/api/v2/organizations', { body: { data: { type: 'organizations', attributes: draft.value } } }),
    () => {
      onClose();
      void navigate({ to: `/organizations/${draft.value.name}` });
    },
  );
  const { field } = fieldsOf(draft, make.error);
  return (
    <FormDialog
      title="Create organization"
      action="Create organization"
      change={make}
      onBack={onClose}
      onSend={() => make.mutate()}
    >
      <TextField label="Name" required autoFocus hint="Letters, numbers, dashes and underscores." {...field('name')} />
      <TextField label="Email address" type="email" required {...field('email')} />
    </FormDialog>
  );
}
