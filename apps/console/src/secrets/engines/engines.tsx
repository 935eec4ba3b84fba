import { Link } from '@tanstack/react-router';
import { Copied } from '../../design/copy';
import { ErrorNotice } from '../../design/error-notice';
import { PageHead, SameBy, Skeleton } from '../../design/page';
import { Table } from '../../design/table';
import { holdsValues, kindOf, useMounts } from '../mounts';
import { mountPage, page } from '../pages';
import { EnableLink } from './enable-link';

/** Every engine that this session may see. */
export function Engines() {
  const mounts = useMounts();
  return (
    <div className="stack">
      <PageHead title="Secrets engines" actions={<EnableLink kind="secret">Enable secrets engine</EnableLink>}>
        <p className="second">Engines store values or issue credentials, each at its own path.</p>
      </PageHead>
      <ErrorNotice error={mounts.error} onRetry={() => void mounts.refetch()} />
      {mounts.known ? null : <Skeleton />}
      {mounts.secret.length === 0 ? null : (
        <Table
          label="Secrets engines"
          rows={mounts.secret}
          keyOf={({ path }) => path}
          narrow="flow"
          columns={[
            { head: 'Path', cell: ({ path }) => <Link {...mountPage({ mount: path })}>{path}</Link> },
            { head: 'Type', className: 'tight', cell: kindOf },
            { head: 'Description', className: 'second', cell: ({ description }) => description },
            {
              head: '',
              className: 'tight',
              cell: (mount) =>
                holdsValues(mount) ? <Link {...page('/secrets', { at: mount.path })}>Browse</Link> : null,
            },
            {
              head: 'Accessor',
              className: 'tight',
              cell: ({ accessor }) => <Copied text={accessor} what="accessor" />,
            },
          ]}
        />
      )}
      <SameBy api="GET /v1/sys/mounts" command="keystead secrets list" />
    </div>
  );
}
