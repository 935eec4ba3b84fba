import { Link } from '@tanstack/react-router';
import { ErrorNotice } from '../../design/error-notice';
import { Empty, PageHead, SameBy, Skeleton } from '../../design/page';
import { Table } from '../../design/table';
import { EnableLink } from '../engines/enable-link';
import { holdsValues, kindOf, type Mount, mountOf, useMounts } from '../mounts';
import { page, useAddress } from '../pages';
import { Folder } from './folder';
import { SecretPage } from './secret';

/** The secret browser: mounts, their folders, and secrets with their versions. */
export function Secrets() {
  const search = useAddress('/secrets');
  const mounts = useMounts();
  if (mounts.error) return <ErrorNotice error={mounts.error} onRetry={() => void mounts.refetch()} />;
  if (!mounts.known) return <Skeleton />;
  const { at } = search;
  if (at === undefined) return <Mounts mounts={mounts.secret.filter(holdsValues)} />;
  const mount = mountOf(mounts.secret, at);
  if (mount === undefined || !holdsValues(mount)) {
    return (
      <div className="stack">
        <PageHead title="Nothing here" crumbs={[{ label: 'Secrets', to: '/secrets' }]} />
        <Empty>There is no key/value engine at {at} that you may use.</Empty>
      </div>
    );
  }
  const below = at.slice(mount.path.length);
  if (below === '' || below.endsWith('/')) return <Folder key={at} mount={mount} folder={below} />;
  return <SecretPage key={at} mount={mount} path={below} version={search.version} compared={search.with} />;
}

function Mounts({ mounts }: { readonly mounts: readonly Mount[] }) {
  return (
    <div className="stack">
      <PageHead
        title="Secrets"
        actions={
          <EnableLink kind="secret" type="kv">
            Enable a key/value engine
          </EnableLink>
        }
      >
        <p className="second">Key/value engines. Engines that issue credentials are under Secrets engines.</p>
      </PageHead>
      {mounts.some(({ type }) => type === 'kv') ? null : (
        <Empty
          command="keystead secrets enable -version=2 kv"
          action={
            <EnableLink kind="secret" type="kv">
              Enable a key/value engine
            </EnableLink>
          }
        >
          No key/value engine yet. It stores secrets of teams and programs, with versions.
        </Empty>
      )}
      {mounts.length === 0 ? null : (
        <Table
          label="Key/value engines"
          rows={mounts}
          keyOf={({ path }) => path}
          narrow="flow"
          columns={[
            { head: 'Path', cell: ({ path }) => <Link {...page('/secrets', { at: path })}>{path}</Link> },
            { head: 'Type', className: 'tight', cell: kindOf },
            {
              head: 'Description',
              className: 'second',
              cell: ({ type, description }) =>
                type === 'cubbyhole' ? 'Only yours, and gone with this session.' : description,
            },
          ]}
        />
      )}
      <SameBy api="GET /v1/sys/internal/ui/mounts" command="keystead secrets list" />
    </div>
  );
}
