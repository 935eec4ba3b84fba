import type { ReactNode } from 'react';
import { PageHead, Tabs } from '../../design/page';
import { useSession } from '../../shell/session';

const tabs = [
  { to: '/admin', label: 'Settings', exact: true },
  { to: '/admin/users', label: 'Users' },
  { to: '/admin/organizations', label: 'Organizations' },
  { to: '/admin/runs', label: 'Runs' },
  { to: '/admin/versions', label: 'Versions' },
  { to: '/admin/retention', label: 'Retention' },
];

/** A page of the administration: what the whole installation has. */
export function AdminPage({
  title,
  actions,
  children,
}: {
  readonly title: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}) {
  const { session } = useSession();
  return (
    <div className="stack">
      <PageHead
        title={title}
        crumbs={[{ label: 'Administration', to: '/admin' }, { label: title }]}
        actions={actions}
      />
      <Tabs label="Administration" tabs={tabs} />
      {session['is-site-admin'] ? (
        children
      ) : (
        <p>These pages are for site administrators, which you are not. One of them can make you one, below Users.</p>
      )}
    </div>
  );
}
