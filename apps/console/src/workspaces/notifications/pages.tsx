import { useParams } from '@tanstack/react-router';
import { ErrorNotice } from '../../design/error-notice';
import { PageHead, Skeleton } from '../../design/page';
import { organizationCrumbs, rule, useOrganizationName, useRead } from '../api';
import { SameByApi } from '../parts/same-by-api';
import { WorkspaceHead } from '../workspace/head';
import { useWorkspace } from '../workspace/use-workspace';
import { NotificationConfiguration, useConfiguration } from './configuration';
import { NotificationList } from './list';
import { NewConfiguration } from './new-configuration';

const useId = () => (useParams({ strict: false }) as { notification?: string }).notification ?? '';

/** The notifications of a workspace. */
export function WorkspaceNotifications() {
  const { to, workspace, error } = useWorkspace();
  return (
    <div className="stack">
      <WorkspaceHead />
      {workspace === undefined ? (
        error === null && <Skeleton rows={2} />
      ) : (
        <NotificationList
          subject={{ type: 'workspaces', id: workspace.id }}
          to={`${to}/notifications`}
          forbidden={rule(workspace.attributes.permissions['can-update'], 'can-update')}
        />
      )}
      <SameByApi path={`workspaces/${workspace?.id ?? '…'}/notification-configurations`} />
    </div>
  );
}

/** The page that creates a notification of a workspace. */
export function NewWorkspaceNotification() {
  const { to, workspace } = useWorkspace();
  return (
    <div className="stack">
      <WorkspaceHead />
      <h2>Create notification</h2>
      {workspace === undefined ? null : (
        <NewConfiguration subject={{ type: 'workspaces', id: workspace.id }} to={`${to}/notifications`} />
      )}
      <SameByApi path={`workspaces/${workspace?.id ?? '…'}/notification-configurations`} />
    </div>
  );
}

/** A notification of a workspace. */
export function WorkspaceNotification() {
  const { to } = useWorkspace();
  const id = useId();
  const name = useConfiguration(id).data?.data?.attributes.name;
  return (
    <div className="stack">
      <WorkspaceHead />
      <h2>{name ?? 'Notification'}</h2>
      <NotificationConfiguration id={id} to={`${to}/notifications`} />
      <SameByApi path={`notification-configurations/${id}`} />
    </div>
  );
}

function useProject() {
  const organization = useOrganizationName();
  const { project: id = '' } = useParams({ strict: false }) as { project?: string };
  const project = useRead(['project', id], (api) =>
    api.GET('/api/v2/projects/{project_id}', { params: { path: { project_id: id } } }),
  );
  const found = project.data?.data ?? undefined;
  const projects = `/organizations/${encodeURIComponent(organization)}/projects`;
  const to = `${projects}/${id}/notifications`;
  const crumbs = organizationCrumbs(
    organization,
    { label: 'Projects', to: projects },
    { label: found?.attributes.name ?? '…', to: `${projects}/${id}` },
  );
  return { id, found, error: project.error, to, crumbs };
}

/** The notifications of all workspaces of a project. */
export function ProjectNotifications() {
  const { id, found, error, to, crumbs } = useProject();
  return (
    <div className="stack">
      <PageHead title="Notifications" crumbs={[...crumbs, { label: 'Notifications' }]} />
      {found === undefined ? (
        <>
          <ErrorNotice error={error} />
          {error === null ? <Skeleton rows={2} /> : null}
        </>
      ) : (
        <NotificationList
          subject={{ type: 'projects', id }}
          to={to}
          forbidden={rule(found.attributes.permissions['can-update'], 'can-update', 'an administrator of the project')}
        />
      )}
      <SameByApi path={`projects/${id}/notification-configurations`} />
    </div>
  );
}

/** The page that creates a notification of a project. */
export function NewProjectNotification() {
  const { id, to, crumbs } = useProject();
  return (
    <div className="stack">
      <PageHead title="Create notification" crumbs={[...crumbs, { label: 'Notifications', to }]} />
      <NewConfiguration subject={{ type: 'projects', id }} to={to} />
      <SameByApi path={`projects/${id}/notification-configurations`} />
    </div>
  );
}

/** A notification of a project. */
export function ProjectNotification() {
  const { to, crumbs } = useProject();
  const id = useId();
  const name = useConfiguration(id).data?.data?.attributes.name ?? 'Notification';
  return (
    <div className="stack">
      <PageHead title={name} crumbs={[...crumbs, { label: 'Notifications', to }, { label: name }]} />
      <NotificationConfiguration id={id} to={to} />
      <SameByApi path={`notification-configurations/${id}`} />
    </div>
  );
}
