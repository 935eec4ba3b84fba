import { PlugZap } from 'lucide-react';
import { Badge } from '../../../design/badge';
import { Button } from '../../../design/button';
import { useMay } from '../../may';
import { encodedPath, useChange } from '../../reads';

/** Logs in to a database with the stored configuration, and shows whether this works. */
export function VerifyButton({
  mount,
  name,
  small = false,
}: {
  readonly mount: string;
  readonly name: string;
  readonly small?: boolean;
}) {
  const path = `${mount}config/${name}/verify`;
  const may = useMay([path]);
  const change = useChange();
  return (
    <span className="row" role="status">
      <Button
        small={small}
        icon={PlugZap}
        label={`Verify connection ${name}`}
        busy={change.isPending}
        {...may({ path, capabilities: ['update'] })}
        onClick={() => change.mutate({ method: 'POST', path: encodedPath(path) })}
      >
        Verify connection
      </Button>
      {change.isSuccess ? <Badge tone="green">reachable</Badge> : null}
      {change.isError ? (
        <>
          <Badge tone="red">not reachable</Badge>
          <span className="small removed">{change.error.message}</span>
        </>
      ) : null}
    </span>
  );
}
