import { ApiError } from '../../api/api-error';
import { ErrorNotice } from '../../design/error-notice';
import { Skeleton } from '../../design/page';
import { useChange, useRead } from '../api';
import { Loaded } from '../parts/loaded';
import { PolicyForm, policyBody, type Wish } from '../retention/policy-form';
import { Preview } from '../retention/preview';
import { AdminPage } from './frame';

/** The installation's data retention policy, which organizations may override. */
export function AdminRetention() {
  const path = '/api/v2/admin/data-retention-policy' as const;
  const policy = useRead(['admin', 'retention'], (api) => api.GET(path));
  const preview = useRead(['admin', 'retention-preview'], (api) => api.GET(`${path}/preview`));
  const save = useChange<unknown, Wish>((api, choice) =>
    choice === undefined ? api.DELETE(path) : api.POST(path, { body: policyBody(choice) }),
  );
  const isNone = policy.error instanceof ApiError && policy.error.status === 404;
  const stored = isNone ? null : policy.data?.data;
  return (
    <AdminPage title="Retention" path="admin/data-retention-policy/preview">
      {isNone ? null : <ErrorNotice error={policy.error} />}
      {stored === undefined ? (
        <Skeleton rows={2} />
      ) : (
        <PolicyForm
          key={stored?.id ?? 'none'}
          policy={stored}
          above={undefined}
          onSave={save.mutate}
          busy={save.isPending}
          error={save.error}
          forbidden={undefined}
        />
      )}
      <Loaded query={preview} rows={2}>
        {({ data }) => (data === null ? null : <Preview found={data} />)}
      </Loaded>
    </AdminPage>
  );
}
