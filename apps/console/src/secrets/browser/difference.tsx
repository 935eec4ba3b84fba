import { Eye, EyeOff } from 'lucide-react';
import { useEffect, useState } from 'react';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { Skeleton } from '../../design/page';
import { shownMs } from '../../design/secret-value';
import { Table } from '../../design/table';
import type { Mount } from '../mounts';
import { changesOf, textOf, useSecret } from './values';

const signs = { added: '+', removed: '−', changed: '~', same: ' ' } as const;

/** Differences between two versions by field; values are masked until both versions are revealed. */
export function Difference({
  mount,
  path,
  before,
  after,
}: {
  readonly mount: Mount;
  readonly path: string;
  readonly before: number;
  readonly after: number;
}) {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    if (!shown) return undefined;
    const timer = setTimeout(() => setShown(false), shownMs);
    return () => clearTimeout(timer);
  }, [shown]);
  const was = useSecret(mount, path, before);
  const is = useSecret(mount, path, after);
  if (was.error || is.error) return <ErrorNotice error={was.error ?? is.error} />;
  if (was.isPending || is.isPending) return <Skeleton rows={2} />;
  const changes = changesOf(was.data?.data ?? {}, is.data?.data ?? {}).filter(({ how }) => how !== 'same');
  return (
    <section className="stack-tight" aria-labelledby="difference">
      <div className="panel-head">
        <h2 id="difference">
          From version {before} to version {after}
        </h2>
        {changes.length === 0 ? null : (
          <Button small icon={shown ? EyeOff : Eye} onClick={() => setShown(!shown)}>
            {shown ? 'Hide values' : 'Reveal values'}
          </Button>
        )}
      </div>
      {changes.length === 0 ? (
        <p className="second">The fields are the same.</p>
      ) : (
        <Table
          label="Differences"
          rows={changes}
          keyOf={({ name }) => name}
          narrow="flow"
          columns={[
            {
              head: 'Field',
              className: 'tight',
              cell: ({ name, how }) => (
                <code className={how}>
                  <span aria-hidden="true">{signs[how]} </span>
                  {name}
                </code>
              ),
            },
            { head: 'Change', className: 'tight', cell: ({ how }) => how },
            {
              head: `Version ${before}`,
              cell: ({ how, before: old }) => (
                <Hidden shown={shown} value={how === 'added' ? undefined : textOf(old)} />
              ),
            },
            {
              head: `Version ${after}`,
              cell: ({ how, after: next }) => (
                <Hidden shown={shown} value={how === 'removed' ? undefined : textOf(next)} />
              ),
            },
          ]}
        />
      )}
    </section>
  );
}

function Hidden({ shown, value }: { readonly shown: boolean; readonly value: string | undefined }) {
  if (value === undefined) return <span className="second">–</span>;
  if (shown) return <pre>{value}</pre>;
  return (
    <>
      <code aria-hidden="true">••••••••••</code>
      <span className="visually-hidden">hidden</span>
    </>
  );
}
