import { useState } from 'react';
import { Button } from '../../design/button';
import { useChange, useRead } from '../api';
import { Loaded } from '../parts/loaded';
import { PolicyForm, policyBody, type Wish } from '../retention/policy-form';
import { Preview } from '../retention/preview';
import type { Workspace } from './use-workspace';

/** The data retention policy of a workspace, and what it would delete now. */
export function WorkspaceRetention({
  workspace,
  forbidden,
}: {
  readonly workspace: Workspace;
  readonly forbidden: string | undefined;
}) {
  const params = { path: { workspace_id: workspace.id } };
  const address = '/api/v2/workspaces/{workspace_id}/relationships/data-retention-policy';
  const policy = useRead(['retention', workspace.id], (api) => api.GET(address, { params }));
  const [isPreviewed, setIsPreviewed] = useState(false);
  const preview = useRead(['retention-preview', workspace.id], (api) => api.GET(`${address}/preview`, { params }), {
    enabled: isPreviewed,
  });
  const save = useChange<unknown, Wish>((api, choice) =>
    choice === undefined ? api.DELETE(address, { params }) : api.POST(address, { params, body: policyBody(choice) }),
  );
  return (
    <section className="stack-tight">
      <h2>Retention</h2>
      <Loaded query={policy} rows={3}>
        {({ data }) => {
          const days = data?.attributes['delete-older-than-n-days'];
          const isOwn = data !== null && data.id === workspace.relationships['data-retention-policy']?.data?.id;
          return (
            <>
              <p className="second">
                {data === null
                  ? 'No policy: everything is kept.'
                  : days === undefined
                    ? 'Everything is kept.'
                    : `Kept for ${days} days.`}{' '}
                The current state is never deleted.
              </p>
              <PolicyForm
                key={`${isOwn} ${days}`}
                policy={isOwn ? data : null}
                above="the organization"
                onSave={save.mutate}
                busy={save.isPending}
                error={save.error}
                forbidden={forbidden}
              />
            </>
          );
        }}
      </Loaded>
      <span>
        <Button small onClick={() => setIsPreviewed(true)} busy={preview.isFetching} forbidden={forbidden}>
          What would be deleted now?
        </Button>
      </span>
      {isPreviewed ? (
        <Loaded query={preview} rows={2}>
          {({ data }) => (data === null ? null : <Preview found={data} />)}
        </Loaded>
      ) : null}
    </section>
  );
}
