import { useState } from 'react';
import type { Resource, WorkspacesApi } from '../../api/workspaces';
import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { Copied } from '../../design/copy';
import { Confirm } from '../../design/dialog';
import { ErrorNotice } from '../../design/error-notice';
import { SelectField } from '../../design/field';
import { Empty } from '../../design/page';
import { asOpened } from '../../shell/as-opened';
import { useSession } from '../../shell/session';
import { useChange, useRead } from '../api';
import { useFilters } from '../filters';
import { ResourceTable } from '../parts/resource-table';
import { SearchBox } from '../parts/search-box';
import { ShownOnce } from '../parts/shown-once';
import { AdminPage } from './frame';

type User = Resource<'AdminUsersResource'>;

/** The actions on an account, each with its label and its effect. */
const acts = {
  grant_admin: ['Make site administrator', 'They may change everything here, in every organization.'],
  revoke_admin: ['Make ordinary user', 'They keep what their teams give them.'],
  suspend: ['Suspend', 'None of their tokens and sessions works until the suspension ends.'],
  unsuspend: ['End suspension', 'Their tokens work again.'],
  disable_two_factor: [
    'Remove second factor',
    'For people who lost a device. They can then sign in with only their password.',
  ],
} as const;
type Act = keyof typeof acts;

const actsOf = ({ attributes }: User): readonly Act[] => [
  attributes['is-admin'] ? 'revoke_admin' : 'grant_admin',
  attributes['is-suspended'] ? 'unsuspend' : 'suspend',
  ...(attributes['two-factor'].enabled ? (['disable_two_factor'] as const) : []),
];

function perform(api: WorkspacesApi, { act, user }: { readonly act: Act; readonly user: User }) {
  return api.POST(`/api/v2/admin/users/{user_id}/actions/${act}`, { params: { path: { user_id: user.id } } });
}

const onlyThem = [
  { value: '', label: 'all' },
  { value: 'true', label: 'only them' },
  { value: 'false', label: 'only others' },
];

/** All accounts. */
export function AdminUsers() {
  const { session } = useSession();
  const [filters, setFilters] = useFilters<'q' | 'admin' | 'suspended' | 'page'>();
  const [question, ask] = useState<{ readonly user: User; readonly act: Act | 'delete' }>();
  const query = {
    q: filters.q,
    'filter[admin]': filters.admin,
    'filter[suspended]': filters.suspended,
    'page[number]': Number(filters.page ?? 1),
  };
  const users = useRead(['admin', 'users', query], (api) => api.GET('/api/v2/admin/users', { params: { query } }));
  const change = useChange(perform);
  const remove = useChange((api, id: string) =>
    api.DELETE('/api/v2/admin/users/{user_id}', { params: { path: { user_id: id } } }),
  );
  const reset = useChange((api, user: User) =>
    api.POST('/api/v2/admin/users/{user_id}/actions/reset_password', { params: { path: { user_id: user.id } } }),
  );
  const link = reset.data?.meta?.['reset-url'];
  return (
    <AdminPage title="Users" path="admin/users">
      <div className="row bottom">
        <SearchBox label="Username or address" value={filters.q} onSearch={(q) => setFilters({ q })} />
        <SelectField
          label="Administrators"
          value={filters.admin ?? ''}
          onChange={(admin) => setFilters({ admin })}
          options={onlyThem}
        />
        <SelectField
          label="Suspended"
          value={filters.suspended ?? ''}
          onChange={(suspended) => setFilters({ suspended })}
          options={onlyThem}
        />
      </div>
      {typeof link === 'string' ? (
        <ShownOnce
          name={`Link for ${reset.variables?.attributes.username}`}
          value={asOpened(link)}
          onClose={reset.reset}
        >
          Send them this link: they can use it once to choose a new password.
        </ShownOnce>
      ) : null}
      <ErrorNotice error={change.error ?? remove.error ?? reset.error} />
      <ResourceTable
        label="Users"
        query={users}
        paged
        empty={<Empty>No person matches this search.</Empty>}
        columns={[
          { head: 'Name', cell: ({ attributes }) => attributes.username },
          { head: 'Email address', cell: ({ attributes }) => attributes.email },
          { head: 'ID', className: 'tight', cell: ({ id }) => <Copied text={id} what="user id" /> },
          {
            head: 'State',
            cell: ({ attributes }) => (
              <span className="tags">
                {attributes['is-admin'] ? <Badge tone="violet">site administrator</Badge> : null}
                {attributes['is-suspended'] ? <Badge tone="red">suspended</Badge> : null}
                {attributes['two-factor'].verified ? <Badge tone="green">second factor</Badge> : null}
                {attributes['is-service-account'] ? <Badge>machine</Badge> : null}
              </span>
            ),
          },
          {
            head: '',
            cell: (user) => {
              const isSelf = user.id === session['user-id'];
              const self = isSelf ? 'This is you: another site administrator can.' : undefined;
              return (
                <span className="row">
                  {actsOf(user).map((act) => (
                    <Button small key={act} forbidden={self} onClick={() => ask({ user, act })}>
                      {acts[act][0]}
                    </Button>
                  ))}
                  <Button small onClick={() => reset.mutate(user)}>
                    Reset password
                  </Button>
                  <Button
                    small
                    kind="danger"
                    forbidden={self}
                    onClick={() => ask({ user, act: 'delete' })}
                    label={`Delete ${user.attributes.username}`}
                  >
                    Delete
                  </Button>
                </span>
              );
            },
          },
        ]}
      />
      {question === undefined ? null : (
        <Confirm
          title={`${question.act === 'delete' ? 'Delete' : acts[question.act][0]}: ${question.user.attributes.username}?`}
          action={question.act === 'delete' ? `Delete ${question.user.attributes.username}` : acts[question.act][0]}
          danger={question.act === 'delete' || question.act === 'suspend'}
          {...(question.act === 'delete' ? { name: question.user.attributes.username } : {})}
          onClose={() => ask(undefined)}
          onConfirm={() => {
            const { user, act } = question;
            ask(undefined);
            if (act === 'delete') remove.mutate(user.id);
            else change.mutate({ act, user });
          }}
        >
          <p>
            {question.act === 'delete'
              ? 'Their tokens are revoked and their memberships removed.'
              : acts[question.act][1]}
          </p>
        </Confirm>
      )}
    </AdminPage>
  );
}
