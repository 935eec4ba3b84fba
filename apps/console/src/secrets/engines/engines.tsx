import { Link } from '@tanstack/react-router';
import { Copied } from '../../design/copy';
import { ErrorNotice } from '../../design/error-notice';
import { PageHead, SameBy, Skeleton } from '../../design/page';
import { holdsValues, kindOf, useMounts } from '../mounts';
import { page } from '../pages';

/** Every engine that this session may know of. */
export function Engines() {
  const mounts = useMounts();
  return (
    <div className="stack">
      <PageHead
        title="Engines"
        actions={
          <Link className="button primary" {...page('/engines/new')}>
            Enable an engine
          </Link>
        }
      >
        <p className="second">What keeps values or makes credentials, each at a path of its own.</p>
      </PageHead>
      <ErrorNotice error={mounts.error} onRetry={() => void mounts.refetch()} />
      {mounts.known ? null : <Skeleton />}
      {mounts.secret.length === 0 ? null : (
        <div className="table-frame">
          <table className="table flow">
            <thead>
              <tr>
                <th>Path</th>
                <th>Kind</th>
                <th>Description</th>
                <th>
                  <span className="visually-hidden">Values</span>
                </th>
                <th>Accessor</th>
              </tr>
            </thead>
            <tbody>
              {mounts.secret.map((mount) => (
                <tr key={mount.path}>
                  <td>
                    <Link {...page('/engines/mount', { mount: mount.path })}>{mount.path}</Link>
                  </td>
                  <td className="tight">{kindOf(mount)}</td>
                  <td className="second">{mount.description}</td>
                  <td className="tight">
                    {holdsValues(mount) ? <Link {...page('/secrets', { at: mount.path })}>Browse</Link> : null}
                  </td>
                  <td className="tight">
                    <Copied text={mount.accessor} what="accessor" />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <SameBy api="GET /v1/sys/mounts" command="keystead secrets list" />
    </div>
  );
}
