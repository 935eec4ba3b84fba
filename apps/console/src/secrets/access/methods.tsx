import { Link } from '@tanstack/react-router';
import { Copied } from '../../design/copy';
import { ErrorNotice } from '../../design/error-notice';
import { PageHead, SameBy, Skeleton } from '../../design/page';
import { Table } from '../../design/table';
import { EnableLink } from '../engines/enable-link';
import { kindOf, useMounts } from '../mounts';
import { mountPage } from '../pages';

/** Auth methods. */
export function Methods() {
  const mounts = useMounts();
  return (
    <div className="stack">
      <PageHead title="Auth methods" actions={<EnableLink kind="auth">Enable auth method</EnableLink>} />
      <ErrorNotice error={mounts.error} onRetry={() => void mounts.refetch()} />
      {mounts.known ? null : <Skeleton />}
      {mounts.auth.length === 0 ? null : (
        <Table
          label="Auth methods"
          rows={mounts.auth}
          keyOf={({ path }) => path}
          narrow="flow"
          columns={[
            {
              head: 'Path',
              cell: ({ path }) => <Link {...mountPage({ mount: `auth/${path}` })}>{path}</Link>,
            },
            { head: 'Type', className: 'tight', cell: kindOf },
            { head: 'Description', className: 'second', cell: ({ description }) => description },
            {
              head: 'Accessor',
              className: 'tight',
              cell: ({ accessor }) => <Copied text={accessor} what="accessor" />,
            },
          ]}
        />
      )}
      <SameBy api="GET /v1/sys/auth" command="keystead auth list" />
    </div>
  );
}
