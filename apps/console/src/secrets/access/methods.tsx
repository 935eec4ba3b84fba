import { Link } from '@tanstack/react-router';
import { Copied } from '../../design/copy';
import { ErrorNotice } from '../../design/error-notice';
import { PageHead, SameBy, Skeleton } from '../../design/page';
import { useMounts } from '../mounts';
import { page } from '../pages';
import { AccessTabs } from './access';

/** How people and programs log in. */
export function Methods() {
  const mounts = useMounts();
  return (
    <div className="stack">
      <PageHead
        title="Access"
        actions={
          <Link className="button primary" {...page('/engines/new', { kind: 'auth' })}>
            Enable a login method
          </Link>
        }
      />
      <AccessTabs />
      <ErrorNotice error={mounts.error} onRetry={() => void mounts.refetch()} />
      {mounts.known ? null : <Skeleton />}
      {mounts.auth.length === 0 ? null : (
        <div className="table-frame">
          <table className="table flow">
            <thead>
              <tr>
                <th>Path</th>
                <th>Kind</th>
                <th>Description</th>
                <th>Accessor</th>
              </tr>
            </thead>
            <tbody>
              {mounts.auth.map((mount) => (
                <tr key={mount.path}>
                  <td>
                    <Link {...page('/engines/mount', { mount: `auth/${mount.path}` })}>{mount.path}</Link>
                  </td>
                  <td className="tight">{mount.type}</td>
                  <td className="second">{mount.description}</td>
                  <td className="tight">
                    <Copied text={mount.accessor} what="accessor" />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <SameBy api="GET /v1/sys/auth" command="keystead auth list" />
    </div>
  );
}
