import type { ReactNode } from 'react';
import { PageHead } from '../../design/page';
import { organizationCrumbs, useOrganizationName } from '../api';
import { AddButton, type Adding } from './adding';
import { SameByApi } from './same-by-api';

/** A page of an organization: its head, what can be added, and the equivalent API call. */
export function OrganizationPage({
  title,
  path,
  about,
  adding,
  children,
}: {
  readonly title: string;
  /** The API path, below the organization. */
  readonly path: string;
  /** Shown below the title. */
  readonly about?: ReactNode;
  readonly adding?: Adding;
  readonly children: ReactNode;
}) {
  const name = useOrganizationName();
  return (
    <div className="stack">
      <PageHead
        title={title}
        crumbs={organizationCrumbs(name, { label: title })}
        actions={adding === undefined ? undefined : <AddButton {...adding} />}
      >
        {about}
      </PageHead>
      {children}
      <SameByApi path={`organizations/${name}/${path}`} />
    </div>
  );
}
