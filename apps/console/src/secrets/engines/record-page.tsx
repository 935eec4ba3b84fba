import { Link, useNavigate } from '@tanstack/react-router';
import { Trash2 } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { Button } from '../../design/button';
import { Confirm } from '../../design/dialog';
import { ErrorNotice } from '../../design/error-notice';
import { PageHead, SameBy, Skeleton } from '../../design/page';
import { useMay } from '../may';
import { mountPage, useAddress } from '../pages';
import { encodedPath, useChange, useRead } from '../reads';
import { crumbsTo } from './own-page';

interface RecordPart {
  readonly part: string;
  readonly label: string;
  /** The equivalent API call and command of this part, below the mount. */
  readonly same: { readonly api: string; readonly command: string };
  /** Whether the part works without permission to read the record. */
  readonly readless?: boolean;
}

/** A named record of a mount: its head, the parts of its page, and a button that deletes it. */
export function RecordPage<Item>({
  mount,
  tab,
  list = tab,
  name,
  one,
  parts,
  about,
  actions,
  deletion,
  isFinal = false,
  children,
}: {
  readonly mount: string;
  readonly tab: string;
  /** The path of the list, if it is not the name of the tab. */
  readonly list?: string;
  readonly name: string;
  /** The noun for a record. */
  readonly one: string;
  readonly parts: readonly RecordPart[];
  readonly about?: (record: Item) => ReactNode;
  readonly actions?: (record: Item) => ReactNode;
  /** The effect of the deletion. */
  readonly deletion: string;
  /** Whether the user must type the name to delete the record. */
  readonly isFinal?: boolean;
  /**
   * The content of a part. The record is undefined only if the session may not read it and the part works without it.
   */
  readonly children: (part: string, record: Item | undefined) => ReactNode;
}) {
  const { part: requestedPart } = useAddress('/engines/mount');
  const chosen = parts.find(({ part }) => part === requestedPart) ?? parts[0]!;
  const path = `${mount}${list}/${name}`;
  const at = `${encodedPath(mount)}${list}/${encodeURIComponent(name)}`;
  const found = useRead<Item>(at);
  const may = useMay([path]);
  const navigate = useNavigate();
  const remove = useChange(() => void navigate(mountPage({ mount, tab })));
  const [removing, setRemoving] = useState(false);
  const close = () => setRemoving(false);
  const record = found.data;
  const isShown = record !== undefined || (chosen.readless === true && !found.isPending);
  return (
    <div className="stack">
      <PageHead
        title={name}
        crumbs={crumbsTo(mount, tab)}
        state={<span className="second small">{one}</span>}
        actions={
          <>
            {record === undefined ? null : actions?.(record)}
            <Button
              kind="danger"
              icon={Trash2}
              {...may({ path, capabilities: ['delete'] })}
              onClick={() => setRemoving(true)}
            >
              Delete
            </Button>
          </>
        }
      >
        {record === undefined || about === undefined ? null : <div className="second">{about(record)}</div>}
      </PageHead>
      {parts.length === 1 ? null : (
        <nav className="tabs" aria-label={`Parts of ${name}`}>
          {parts.map(({ part, label }) => (
            <Link
              key={part}
              {...mountPage({ mount, tab, name, part })}
              aria-current={part === chosen.part ? 'page' : undefined}
              activeProps={{}}
            >
              {label}
            </Link>
          ))}
        </nav>
      )}
      <ErrorNotice error={chosen.readless ? null : found.error} />
      {found.isPending ? <Skeleton rows={6} /> : null}
      {isShown ? children(chosen.part, record) : null}
      {removing ? (
        <Confirm
          title={`Delete ${one} ${name}?`}
          action={`Delete ${one}`}
          danger
          {...(isFinal ? { name } : {})}
          busy={remove.isPending}
          onClose={close}
          onConfirm={() => remove.mutate({ method: 'DELETE', path: at }, { onSuccess: close })}
        >
          <p>{deletion}</p>
          <ErrorNotice error={remove.error} />
        </Confirm>
      ) : null}
      <SameBy api={chosen.same.api} command={chosen.same.command} />
    </div>
  );
}

/** The equivalent API call and command: `read`, or `write` with some of its fields. */
export const sameBy = (verb: 'read' | 'write', path: string, fields = '') => ({
  api: `${verb === 'read' ? 'GET' : 'POST'} /v1/${path}`,
  command: `keystead ${verb === 'read' ? 'read' : 'write'} ${path}${fields === '' ? '' : ` ${fields}`}`,
});

/** A page that creates a record by one form. */
export function NewRecord({
  mount,
  tab,
  title,
  same,
  children,
}: {
  readonly mount: string;
  readonly tab: string;
  readonly title: string;
  readonly same: { readonly api: string; readonly command: string };
  readonly children: ReactNode;
}) {
  return (
    <div className="stack">
      <PageHead title={title} crumbs={crumbsTo(mount, tab)} />
      {children}
      <SameBy {...same} />
    </div>
  );
}
