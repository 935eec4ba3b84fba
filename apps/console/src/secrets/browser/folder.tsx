import { Link, useNavigate } from '@tanstack/react-router';
import { FileLock, Folder as FolderIcon, Vault } from 'lucide-react';
import { useState } from 'react';
import { isDenied } from '../../api/api-error';
import { Button, CreateButton } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { TextField } from '../../design/field';
import { Form } from '../../design/form';
import { Empty, PageHead, SameBy, Skeleton } from '../../design/page';
import { useMay } from '../may';
import { hasVersions, kindOf, type Mount } from '../mounts';
import { useNamedBelow } from '../own-rules';
import { page } from '../pages';
import { encodedPath, useList } from '../reads';
import { crumbsOf } from './crumbs';
import { NewSecret } from './new-secret';
import { Relocate } from './relocate';
import { valuesAt } from './values';

/** Shown instead of a folder's list to users who may read some secrets in the folder, but not list them. */
function OpenPath({ mount, folder }: { readonly mount: Mount; readonly folder: string }) {
  const at = mount.path + folder;
  const named = useNamedBelow(
    hasVersions(mount) ? [`${mount.path}data/${folder}`, `${mount.path}metadata/${folder}`] : [at],
  );
  const [path, setPath] = useState('');
  const navigate = useNavigate();
  return (
    <div className="stack-tight">
      <p className="second">Your policies do not let you list this folder. You can open what you know by its path.</p>
      {named.length === 0 ? null : (
        <ul className="list" aria-label="Named by your policies">
          {named.map((name) => (
            <Entry key={name} at={at} name={name} />
          ))}
        </ul>
      )}
      <Form
        layout="line"
        action="Open path"
        change={{ isPending: false, error: null }}
        onSend={() => void navigate(page('/secrets', { at: at + path.trim().replace(/^\/+/, '') }))}
      >
        <TextField
          label="Path"
          required
          value={path}
          onChange={setPath}
          hint={
            <>
              Below <code>{at}</code>. A slash at the end opens a folder.
            </>
          }
        />
      </Form>
    </div>
  );
}

function Entry({ at, name }: { readonly at: string; readonly name: string }) {
  const Shape = name.endsWith('/') ? FolderIcon : FileLock;
  return (
    <li>
      <Shape size={16} className="second" aria-hidden="true" />
      <Link {...page('/secrets', { at: at + name })}>{name}</Link>
    </li>
  );
}

/** A folder of an engine: its secrets and the folders below. */
export function Folder({ mount, folder }: { readonly mount: Mount; readonly folder: string }) {
  const listed = hasVersions(mount) ? `${mount.path}metadata/${folder}` : `${mount.path}${folder}`;
  const names = useList(encodedPath(listed).replace(/\/$/, ''));
  const [part, setPart] = useState('');
  const [adding, setAdding] = useState(false);
  const [moving, setMoving] = useState(false);
  const navigate = useNavigate();
  // An example path, to check whether the session may create secrets here.
  const any = valuesAt(mount, `${folder}new`);
  const mayCreate = useMay([any])({ path: any, capabilities: ['create'] }).forbidden === undefined;
  const shown = (names.data ?? []).filter((name) => name.includes(part));
  const title = folder === '' ? mount.path : folder.split('/').at(-2)!;
  return (
    <div className="stack">
      <PageHead
        title={title}
        crumbs={crumbsOf(mount, folder)}
        state={<span className="second small">{kindOf(mount)}</span>}
        actions={
          <>
            {hasVersions(mount) && folder !== '' ? <Button onClick={() => setMoving(true)}>Move or copy</Button> : null}
            {mayCreate ? <CreateButton onClick={() => setAdding(true)}>Create secret</CreateButton> : null}
          </>
        }
      />
      {isDenied(names.error) ? (
        <OpenPath mount={mount} folder={folder} />
      ) : (
        <ErrorNotice error={names.error} onRetry={() => void names.refetch()} />
      )}
      {names.isPending ? <Skeleton /> : null}
      {names.data !== undefined && names.data.length === 0 ? (
        <Empty
          icon={Vault}
          command={`keystead kv put ${mount.path}${folder}first password=…`}
          action={mayCreate ? <CreateButton onClick={() => setAdding(true)}>Create secret</CreateButton> : undefined}
        >
          No secrets here yet. A secret is a path with fields, such as a username and a password.
        </Empty>
      ) : null}
      {names.data === undefined || names.data.length === 0 ? null : (
        <>
          {names.data.length < 8 ? null : (
            <TextField label="Search" type="search" value={part} onChange={setPart} placeholder="part of a name" />
          )}
          <ul className="list" aria-label="Secrets and folders">
            {shown.map((name) => (
              <Entry key={name} at={mount.path + folder} name={name} />
            ))}
          </ul>
          {shown.length === 0 ? <p className="second">No name here has “{part}” in it.</p> : null}
        </>
      )}
      {moving ? (
        <Relocate
          mount={mount}
          from={folder}
          onClose={() => setMoving(false)}
          onDone={(to) => void navigate(page('/secrets', { at: mount.path + to }))}
        />
      ) : null}
      {adding ? (
        <NewSecret
          mount={mount}
          folder={folder}
          onClose={() => setAdding(false)}
          onDone={(path) => void navigate(page('/secrets', { at: `${mount.path}${path}` }))}
        />
      ) : null}
      <SameBy api={`LIST /v1/${listed}`} command={`keystead kv list ${mount.path}${folder}`} />
    </div>
  );
}
