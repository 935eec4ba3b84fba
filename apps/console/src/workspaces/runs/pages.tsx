import { Notice } from '../../design/notice';
import { PageHead, SameBy, Tabs } from '../../design/page';
import { useOrganizationName, useRead } from '../api';
import { WorkspaceHead } from '../workspace/head';
import { useWorkspace } from '../workspace/use-workspace';
import { RunList } from './run-list';

/** The runs of a workspace. */
export function WorkspaceRuns() {
  const { org, ws, workspace } = useWorkspace();
  return (
    <div className="stack">
      <WorkspaceHead />
      {workspace === undefined ? null : (
        <RunList
          org={org}
          ws={ws}
          runs={{
            key: ['runs of workspace', workspace.id],
            stream: `workspaces/${workspace.id}/runs/stream`,
            read: (api, query) =>
              api.GET('/api/v2/workspaces/{workspace_id}/runs', {
                params: { path: { workspace_id: workspace.id }, query },
              }),
          }}
        />
      )}
      <SameBy
        api={`GET /api/v2/workspaces/${workspace?.id ?? ws}/runs`}
        command={`keystead run list -organization=${org} -workspace=${ws}`}
      />
    </div>
  );
}

function useTabs() {
  const org = useOrganizationName();
  const to = `/organizations/${org}/runs`;
  const tabs = [
    { to, label: 'All runs', exact: true },
    { to: `${to}/queue`, label: 'Queue' },
  ];
  return {
    org,
    tabs,
    params: { path: { organization_name: org } },
    stream: `organizations/${encodeURIComponent(org)}/runs/stream`,
  };
}

/** The runs of an organization. */
export function OrganizationRuns() {
  const { org, tabs, params, stream } = useTabs();
  return (
    <div className="stack">
      <PageHead
        title="Runs"
        crumbs={[{ label: 'Organizations', to: '/' }, { label: org, to: `/organizations/${org}` }, { label: 'Runs' }]}
      />
      <Tabs label="Runs" tabs={tabs} />
      <RunList
        org={org}
        runs={{
          key: ['runs of organization', org],
          stream,
          read: (api, query) =>
            api.GET('/api/v2/organizations/{organization_name}/runs', { params: { ...params, query } }),
        }}
      />
      <SameBy api={`GET /api/v2/organizations/${org}/runs`} />
    </div>
  );
}

/** The run queue: what waits for a worker, and what workers carry out. */
export function Queue() {
  const { org, tabs, params, stream } = useTabs();
  const { data } = useRead(['capacity', org], (api) =>
    api.GET('/api/v2/organizations/{organization_name}/capacity', { params }),
  );
  return (
    <div className="stack">
      <PageHead
        title="Queue"
        crumbs={[
          { label: 'Organizations', to: '/' },
          { label: org, to: `/organizations/${org}` },
          { label: 'Runs', to: `/organizations/${org}/runs` },
          { label: 'Queue' },
        ]}
      />
      <Tabs label="Runs" tabs={tabs} />
      {data?.data ? (
        <Notice>
          {data.data.attributes.running} running, {data.data.attributes.pending} waiting.
        </Notice>
      ) : null}
      <RunList
        org={org}
        filters={false}
        runs={{
          key: ['queue of organization', org],
          stream,
          read: (api, query) =>
            api.GET('/api/v2/organizations/{organization_name}/runs/queue', { params: { ...params, query } }),
        }}
      />
      <SameBy api={`GET /api/v2/organizations/${org}/runs/queue`} />
    </div>
  );
}
