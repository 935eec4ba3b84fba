import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Badge } from '../../design/badge';
import { ErrorNotice } from '../../design/error-notice';
import { PageHead, Tabs } from '../../design/page';
import { includedOf } from '../api';
import { Status } from '../parts/states';
import { LockButton } from './lock-button';
import { NewRun } from './new-run';
import { useWorkspace } from './use-workspace';

/** Head and tabs of every page of a workspace. */
export function WorkspaceHead({ children }: { readonly children?: ReactNode }) {
  const { org, ws, to, workspace, included, error, refetch } = useWorkspace();
  const run = includedOf(included, workspace?.relationships['current-run']);
  const tabs = [
    ['', 'Overview'],
    ['/runs', 'Runs'],
    ['/variables', 'Variables'],
    ['/states', 'States'],
    ['/access', 'Access'],
    ['/notifications', 'Notifications'],
    ['/settings', 'Settings'],
  ] as const;
  return (
    <>
      <PageHead
        title={ws}
        crumbs={[{ label: 'Organizations', to: '/' }, { label: org, to: `/organizations/${org}` }, { label: ws }]}
        state={
          <>
            {run === undefined ? null : (
              <Link to={`${to}/runs/${run.id}`}>
                <Status status={run.attributes.status} />
              </Link>
            )}
            {workspace?.attributes.locked ? <Badge tone="violet">locked</Badge> : null}
          </>
        }
        actions={
          workspace === undefined ? undefined : (
            <>
              <LockButton workspace={workspace} />
              <NewRun workspace={workspace} org={org} />
            </>
          )
        }
      >
        {workspace?.attributes.description ? <p className="second">{workspace.attributes.description}</p> : null}
      </PageHead>
      <Tabs
        label={`Parts of ${ws}`}
        tabs={tabs.map(([rest, label]) => ({ to: to + rest, label, exact: rest === '' }))}
      />
      <ErrorNotice error={error} onRetry={() => void refetch()} />
      {children}
    </>
  );
}
