import type { ReactNode } from 'react';
import { type Crumb, PageHead, Tabs } from '../../design/page';
import { useSession } from '../../shell/session';
import { AddButton, type Adding } from '../parts/adding';
import { SameByApi } from '../parts/same-by-api';

const tabs = [
  { to: '/admin', label: 'Settings', exact: true },
  { to: '/admin/users', label: 'Users' },
  { to: '/admin/sign-in', label: 'Sign-in' },
  { to: '/admin/saml', label: 'SAML', selfHosted: true },
  { to: '/admin/scim', label: 'SCIM', selfHosted: true },
  { to: '/admin/organizations', label: 'Organizations' },
  { to: '/admin/runs', label: 'Runs' },
  { to: '/admin/versions', label: 'Versions' },
  { to: '/admin/retention', label: 'Retention' },
  { to: '/admin/audit', label: 'Audit' },
];

/** A page of the site administration. */
export function AdminPage({
  title,
  path,
  above,
  state,
  adding,
  children,
}: {
  readonly title: string;
  /** The API path that the page shows. */
  readonly path: string;
  /** The parent page, if this page is not one of the tabs. */
  readonly above?: Crumb;
  readonly state?: ReactNode;
  readonly adding?: Adding;
  readonly children: ReactNode;
}) {
  const { session, config } = useSession();
  const visibleTabs = tabs.filter(({ selfHosted }) => !selfHosted || config.edition === 'self-hosted');
  return (
    <div className="stack">
      <PageHead
        title={title}
        crumbs={[{ label: 'Administration', to: '/admin' }, ...(above ? [above] : []), { label: title }]}
        state={state}
        actions={adding === undefined ? undefined : <AddButton {...adding} />}
      />
      <Tabs label="Administration" tabs={visibleTabs} />
      {session['is-site-admin'] ? (
        <>
          {children}
          <SameByApi path={path} />
        </>
      ) : (
        <p>These pages are for site administrators. A site administrator can make you one under Users.</p>
      )}
    </div>
  );
}
