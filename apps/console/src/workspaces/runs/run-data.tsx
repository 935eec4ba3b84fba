import { useState } from 'react';
import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { Confirm } from '../../design/dialog';
import { ErrorNotice } from '../../design/error-notice';
import { Time } from '../../design/time';
import { useChange } from '../api';
import type { LiveRun, Phase } from './run-types';

const acts = {
  'soft-delete': { label: 'Hide', title: 'Hide the results and the log of the' },
  restore: { label: 'Bring back', title: 'Restore the results and the log of the' },
  'permanently-delete': { label: 'Remove permanently', title: 'Permanently remove the results and the log of the' },
} as const;
type DataAct = keyof typeof acts;

/** Soft-deletes, restores or removes the results and logs of a run. For owners. */
export function RunData({ run, onChanged }: { readonly run: LiveRun; readonly onChanged: () => void }) {
  return (
    <div className="stack">
      <p className="second">
        If a plan or its log shows something that no one should see, hide it. Hidden data can be restored for seven
        days; then it is removed permanently. Counts and the status stay.
      </p>
      <ul className="list" aria-label="Data of the run">
        {run.phases
          .filter(({ kind }) => kind === 'plan' || !run['plan-only'])
          .map((phase) => (
            <PhaseData key={phase.id} phase={phase} ended={isOver(run)} onChanged={onChanged} />
          ))}
      </ul>
    </div>
  );
}

const isOver = ({ actions }: LiveRun): boolean =>
  !actions['is-cancelable'] && !actions['is-confirmable'] && !actions['is-discardable'];

function PhaseData({
  phase,
  ended,
  onChanged,
}: {
  readonly phase: Phase;
  readonly ended: boolean;
  readonly onChanged: () => void;
}) {
  const { id, kind } = phase;
  const hiddenAt = phase['data-hidden-at'];
  const [doing, setDoing] = useState<DataAct>();
  const change = useChange<unknown, DataAct>((api, act) => {
    const params = { path: { id } };
    if (kind === 'apply') {
      if (act === 'restore') return api.POST('/api/v2/applies/{id}/actions/restore-backing-data', { params });
      if (act === 'soft-delete') return api.POST('/api/v2/applies/{id}/actions/soft-delete-backing-data', { params });
      return api.POST('/api/v2/applies/{id}/actions/permanently-delete-backing-data', { params });
    }
    if (act === 'restore') return api.POST('/api/v2/plans/{id}/actions/restore-backing-data', { params });
    if (act === 'soft-delete') return api.POST('/api/v2/plans/{id}/actions/soft-delete-backing-data', { params });
    return api.POST('/api/v2/plans/{id}/actions/permanently-delete-backing-data', { params });
  }, onChanged);
  const isEmpty = hiddenAt === null && phase['log-bytes'] === 0;
  const button = (act: DataAct, danger = false) => (
    <Button
      small
      {...(danger ? { kind: 'danger' as const } : {})}
      label={`${acts[act].label}: ${kind}`}
      forbidden={ended ? undefined : 'The run has not ended.'}
      onClick={() => setDoing(act)}
    >
      {acts[act].label}
    </Button>
  );
  return (
    <li>
      <span className="strong">{kind === 'plan' ? 'Plan' : 'Apply'}</span>
      {hiddenAt === null ? (
        <span className="second grow">{isEmpty ? 'nothing is stored' : 'its results and log can be seen'}</span>
      ) : (
        <span className="second grow">
          <Badge tone="amber">hidden</Badge> <Time at={hiddenAt} />
        </span>
      )}
      {hiddenAt !== null ? (
        <>
          {button('restore')}
          {button('permanently-delete', true)}
        </>
      ) : isEmpty ? null : (
        button('soft-delete')
      )}
      {doing === undefined ? null : (
        <Confirm
          title={`${acts[doing].title} ${kind}?`}
          action={acts[doing].label}
          danger={doing !== 'restore'}
          busy={change.isPending}
          onClose={() => setDoing(undefined)}
          onConfirm={() => change.mutate(doing)}
        >
          <p>
            {doing === 'restore'
              ? 'Everyone who may read the run sees them again.'
              : doing === 'soft-delete'
                ? 'No one can see them. They can be restored here for seven days.'
                : 'They cannot be restored.'}
          </p>
          <ErrorNotice error={change.error} />
        </Confirm>
      )}
    </li>
  );
}
