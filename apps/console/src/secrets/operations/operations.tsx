import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { Copied } from '../../design/copy';
import { Confirm } from '../../design/dialog';
import { ErrorNotice } from '../../design/error-notice';
import { PageHead, SameBy, Skeleton } from '../../design/page';
import { Table } from '../../design/table';
import { Time } from '../../design/time';
import { useMay } from '../may';
import { page } from '../pages';
import { useChange, useRead } from '../reads';

interface KeyStatus {
  readonly term: number;
  readonly install_time: string;
  readonly encryptions: number;
}
interface RotationRules {
  readonly enabled: boolean;
  readonly interval: string | number;
  readonly max_operations: number;
}
interface Nodes {
  readonly nodes: readonly {
    readonly api_address: string;
    readonly hostname: string;
    readonly last_echo: string;
    readonly version: string;
  }[];
}
interface RotationProgress {
  readonly running: boolean;
  /** The number of entries that have been re-encrypted so far. */
  readonly values: number;
  readonly failures: number;
}

/** The seal, encryption keys and nodes. */
export function Operations() {
  const keys = useRead<KeyStatus>('sys/key-status');
  const rules = useRead<RotationRules>('sys/rotate/config');
  const progress = useRead<RotationProgress>('sys/rotate/progress', { everyMs: 5000 });
  const nodes = useRead<Nodes>('sys/ha-status', { everyMs: 5000 });
  const change = useChange();
  const may = useMay(['sys/rotate', 'sys/seal']);
  const mayDo = (path: string) => may({ path, capabilities: ['update', 'sudo'] });
  const [asking, setAsking] = useState<'seal' | 'rotate'>();
  const run = (path: string) =>
    change.mutate(
      { method: 'PUT', path },
      {
        onSuccess: () => {
          if (path === 'sys/seal') location.reload();
        },
        onSettled: () => setAsking(undefined),
      },
    );
  return (
    <div className="stack">
      <PageHead
        title="Operations"
        state={<Badge tone="green">unsealed</Badge>}
        actions={
          <>
            <Link className="button" {...page('/operations/key-shares')}>
              Key shares
            </Link>
            <Button {...mayDo('sys/rotate')} onClick={() => setAsking('rotate')}>
              Rotate key
            </Button>
            <Button kind="danger" {...mayDo('sys/seal')} onClick={() => setAsking('seal')}>
              Seal
            </Button>
          </>
        }
      />
      <ErrorNotice error={change.error} />
      <section className="stack-tight" aria-labelledby="keys">
        <h2 id="keys">Encryption key</h2>
        <ErrorNotice error={keys.error ?? rules.error} />
        {keys.data === undefined ? (
          <Skeleton rows={3} />
        ) : (
          <dl className="facts">
            <dt>Term</dt>
            <dd>{keys.data.term}</dd>
            <dt>Active since</dt>
            <dd>
              <Time at={keys.data.install_time} />
            </dd>
            <dt>Encryptions by this node</dt>
            <dd>{keys.data.encryptions.toLocaleString()}</dd>
            <dt>Automatic rotation</dt>
            <dd>
              {rules.data === undefined
                ? '…'
                : rules.data.enabled
                  ? `after ${rules.data.max_operations.toLocaleString()} values${rules.data.interval === 0 ? '' : `, or ${rules.data.interval}`}`
                  : 'no'}
            </dd>
            <dt>Re-encryption</dt>
            <dd>
              <ProgressText progress={progress.data} />
            </dd>
          </dl>
        )}
      </section>
      <section className="stack-tight" aria-labelledby="nodes">
        <h2 id="nodes">Nodes</h2>
        <ErrorNotice error={nodes.error} onRetry={() => void nodes.refetch()} />
        {nodes.data === undefined ? (
          <Skeleton rows={2} />
        ) : (
          <Table
            label="Nodes"
            narrow="flow"
            rows={nodes.data.nodes}
            keyOf={({ api_address }) => api_address}
            columns={[
              { head: 'Address', cell: ({ api_address }) => <Copied text={api_address} what="address" /> },
              { head: 'Host', cell: ({ hostname }) => hostname || <span className="second">another node</span> },
              { head: 'Version', cell: ({ version }) => version || <span className="second">unknown</span> },
              { head: 'Last seen', cell: ({ last_echo }) => <Time at={last_echo} /> },
            ]}
          />
        )}
      </section>
      {asking === 'seal' ? (
        <Confirm
          title="Seal the service?"
          action="Seal"
          name="seal"
          danger
          busy={change.isPending}
          onClose={() => setAsking(undefined)}
          onConfirm={() => run('sys/seal')}
        >
          <p>All nodes stop answering until they are unsealed. Leases that expire meanwhile are revoked afterwards.</p>
        </Confirm>
      ) : null}
      {asking === 'rotate' ? (
        <Confirm
          title="Rotate key?"
          action="Rotate key"
          busy={change.isPending}
          onClose={() => setAsking(undefined)}
          onConfirm={() => run('sys/rotate')}
        >
          <p>New values use a new key at once; older ones are re-encrypted in the background.</p>
        </Confirm>
      ) : null}
      <SameBy api="GET /v1/sys/key-status" command="keystead operator key-status" />
    </div>
  );
}

function ProgressText({ progress }: { readonly progress: RotationProgress | undefined }) {
  if (progress === undefined) return <span className="second">…</span>;
  const { running, values, failures } = progress;
  if (running) return <Badge tone="amber">{values.toLocaleString('en')} values so far</Badge>;
  if (failures > 0) return <Badge tone="red">{failures.toLocaleString('en')} values could not be read</Badge>;
  return <Badge tone="green">everything is under this key</Badge>;
}
