import { useState } from 'react';
import { Button } from '../../design/button';
import { Confirm } from '../../design/dialog';
import { ErrorNotice } from '../../design/error-notice';
import { useMay } from '../may';
import { useChange } from '../reads';

const path = 'sys/leases/revoke';

/** Revokes the chosen leases, after a confirmation. */
export function RevokeChosen({
  chosen,
  onDone,
}: {
  readonly chosen: ReadonlySet<string>;
  readonly onDone: () => void;
}) {
  const may = useMay([path]);
  const change = useChange();
  const [asking, setAsking] = useState(false);
  const what = `Revoke ${chosen.size} ${chosen.size === 1 ? 'lease' : 'leases'}`;
  const revoke = async () => {
    try {
      for (const lease_id of chosen) await change.mutateAsync({ method: 'PUT', path, body: { lease_id } });
      onDone();
    } catch {
      // The dialog shows the error.
    }
  };
  if (chosen.size === 0) return null;
  return (
    <>
      <Button kind="danger" {...may({ path, capabilities: ['update'] })} onClick={() => setAsking(true)}>
        {what}
      </Button>
      {asking ? (
        <Confirm
          title={`${what}?`}
          action={what}
          danger
          busy={change.isPending}
          onClose={() => setAsking(false)}
          onConfirm={() => void revoke()}
        >
          <p>{chosen.size === 1 ? 'Its' : 'Their'} credentials stop working at once:</p>
          <ul className="stack-tight small">
            {[...chosen].slice(0, 10).map((id) => (
              <li key={id}>
                <code>{id}</code>
              </li>
            ))}
          </ul>
          {chosen.size > 10 ? <p className="second small">and {chosen.size - 10} more</p> : null}
          <ErrorNotice error={change.error} />
        </Confirm>
      ) : null}
    </>
  );
}
