import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { type FormEvent, useEffect, useState } from 'react';
import { ApiError } from '../../api/api-error';
import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { CodeEditor, lineIn } from '../../design/code-editor';
import { Confirm } from '../../design/dialog';
import { ErrorNotice } from '../../design/error-notice';
import { PageHead, SameBy, Skeleton } from '../../design/page';
import { useSession } from '../../shell/session';
import { useMay } from '../may';
import { page, useAddress } from '../pages';
import { useChange } from '../reads';

interface PolicyText {
  readonly policy: string;
  readonly version?: number;
  readonly modified?: string;
}

const beginning = `# Read the secrets of a folder of a key/value engine (version 2), and list their names.
path "secret/data/team/*" {
  capabilities = ["read"]
}
path "secret/metadata/team/*" {
  capabilities = ["read", "list"]
}
`;

/** A policy editor that shows errors at their lines. */
export function PolicyPage() {
  const { name } = useParams({ strict: false }) as { name: string };
  const { line } = useAddress('/policies/$name');
  const { transport } = useSession();
  const at = `sys/policies/acl/${encodeURIComponent(name)}`;
  const found = useQuery<PolicyText | null>({
    queryKey: ['v1', 'policy', name],
    refetchOnWindowFocus: false,
    queryFn: async () => {
      try {
        return (await transport.call<{ data: PolicyText }>('GET', `/v1/${at}`)).data;
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return null;
        throw error;
      }
    },
  });
  const [text, setText] = useState<string>();
  const [removing, setRemoving] = useState(false);
  const change = useChange();
  const navigate = useNavigate();
  const stored = found.data;
  useEffect(() => {
    if (stored !== undefined) setText((before) => before ?? stored?.policy ?? beginning);
  }, [stored]);
  const message = change.error?.message;
  const wrongLine = message === undefined ? undefined : lineIn(message);
  const save = (event: FormEvent) => {
    event.preventDefault();
    change.mutate({ method: 'POST', path: at, body: { policy: text } });
  };
  const isNew = stored === null;
  const may = useMay([at]);
  const isChanged = text !== undefined && text !== (stored?.policy ?? '');
  return (
    <div className="stack">
      <PageHead
        title={name}
        crumbs={[{ label: 'Policies', to: '/policies' }]}
        state={
          isNew ? <Badge tone="amber">not saved yet</Badge> : isChanged ? <Badge tone="amber">changed</Badge> : null
        }
        actions={
          isNew || name === 'default' ? undefined : (
            <Button kind="danger" {...may({ path: at, capabilities: ['delete'] })} onClick={() => setRemoving(true)}>
              Delete
            </Button>
          )
        }
      />
      <ErrorNotice error={found.error} onRetry={() => void found.refetch()} />
      {text === undefined ? (
        found.error === null ? (
          <Skeleton rows={8} />
        ) : null
      ) : (
        <form className="stack" onSubmit={save}>
          <CodeEditor label="Rules" value={text} onChange={setText} wrongLine={wrongLine} shownLine={line} />
          <ErrorNotice error={change.error} />
          {change.isSuccess && !isChanged ? (
            <p role="status">Saved. It takes effect at once, also for existing tokens.</p>
          ) : null}
          <div className="row">
            <Button
              type="submit"
              kind="primary"
              busy={change.isPending}
              {...may({ path: at, capabilities: [isNew ? 'create' : 'update'] })}
            >
              {isNew ? 'Create policy' : 'Save the policy'}
            </Button>
            <Link className="button" {...page('/policies/explain', { policies: name })}>
              Explain
            </Link>
          </div>
        </form>
      )}
      {removing ? (
        <Confirm
          title={`Delete policy ${name}?`}
          action="Delete policy"
          name={name}
          danger
          busy={change.isPending}
          onClose={() => setRemoving(false)}
          onConfirm={() =>
            change.mutate({ method: 'DELETE', path: at }, { onSuccess: () => void navigate(page('/policies')) })
          }
        >
          <p>Its tokens lose these rights at once.</p>
        </Confirm>
      ) : null}
      <SameBy api={`GET /v1/${at}`} command={`keystead policy read ${name}`} />
    </div>
  );
}
