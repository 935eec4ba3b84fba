import { Link, useNavigate } from '@tanstack/react-router';
import { Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../../design/button';
import { Confirm } from '../../../design/dialog';
import { ErrorNotice } from '../../../design/error-notice';
import { PageHead, SameBy, Skeleton } from '../../../design/page';
import { useMay } from '../../may';
import { mountPage, useAddress } from '../../pages';
import { encodedPath, useChange, useRead } from '../../reads';
import { crumbsTo } from '../own-page';
import { IssueForm, SignForm } from './issue';
import { allowedBy, type PkiRole } from './role';
import { RoleForm } from './role-form';

const parts = [
  ['issue', 'Issue certificate'],
  ['sign', 'Sign CSR'],
  ['settings', 'Settings'],
] as const;

/** A role: issues, signs, and is changed. */
export function RolePage({ mount, name }: { readonly mount: string; readonly name: string }) {
  const { part: asked } = useAddress('/engines/mount');
  const part = parts.find(([one]) => one === asked)?.[0] ?? 'issue';
  const path = `${mount}roles/${name}`;
  const at = `${encodedPath(mount)}roles/${encodeURIComponent(name)}`;
  const found = useRead<PkiRole>(at);
  const may = useMay([path]);
  const navigate = useNavigate();
  const remove = useChange(() => void navigate(mountPage({ mount, tab: 'roles' })));
  const [removing, setRemoving] = useState(false);
  const shared = { mount, name, role: found.data };
  return (
    <div className="stack">
      <PageHead
        title={name}
        crumbs={crumbsTo(mount, 'roles')}
        state={<span className="second small">role</span>}
        actions={
          <Button
            kind="danger"
            icon={Trash2}
            {...may({ path, capabilities: ['delete'] })}
            onClick={() => setRemoving(true)}
          >
            Delete
          </Button>
        }
      >
        {found.data === undefined ? null : <p className="second">Allows {allowedBy(found.data)}.</p>}
      </PageHead>
      <nav className="tabs" aria-label={`Parts of ${name}`}>
        {parts.map(([one, label]) => (
          <Link
            key={one}
            {...mountPage({ mount, tab: 'roles', name, part: one })}
            aria-current={one === part ? 'page' : undefined}
            activeProps={{}}
          >
            {label}
          </Link>
        ))}
      </nav>
      <ErrorNotice error={remove.error ?? (part === 'settings' ? found.error : null)} />
      {part === 'issue' ? <IssueForm {...shared} /> : null}
      {part === 'sign' ? <SignForm {...shared} /> : null}
      {part === 'settings' && found.isPending ? <Skeleton rows={6} /> : null}
      {part === 'settings' && found.data !== undefined ? (
        <RoleForm mount={mount} name={name} stored={found.data} />
      ) : null}
      {removing ? (
        <Confirm
          title={`Delete role ${name}?`}
          action="Delete role"
          danger
          busy={remove.isPending}
          onClose={() => setRemoving(false)}
          onConfirm={() => remove.mutate({ method: 'DELETE', path: at }, { onSettled: () => setRemoving(false) })}
        >
          <p>It issues no more certificates. Those that it issued stay valid.</p>
        </Confirm>
      ) : null}
      <SameBy
        api={`POST /v1/${mount}${part === 'sign' ? 'sign' : 'issue'}/${name}`}
        command={`keystead write ${mount}${part === 'sign' ? 'sign' : 'issue'}/${name} common_name=…`}
      />
    </div>
  );
}
