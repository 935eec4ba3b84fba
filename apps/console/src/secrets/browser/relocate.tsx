import { useState } from 'react';
import { CheckField, SelectField, TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { SameBy } from '../../design/page';
import type { Mount } from '../mounts';
import { useChange } from '../reads';

type What = 'move' | 'copy' | 'copy-all';

const choices: readonly { readonly value: What; readonly label: string }[] = [
  { value: 'move', label: 'Move' },
  { value: 'copy', label: 'Copy the newest version' },
  { value: 'copy-all', label: 'Copy all versions and metadata' },
];

/** Moves, renames or copies a secret, or a folder and everything below it. */
export function Relocate({
  mount,
  from,
  onClose,
  onDone,
}: {
  readonly mount: Mount;
  /** The path within the engine. Folders end with a slash. */
  readonly from: string;
  readonly onClose: () => void;
  readonly onDone: (to: string) => void;
}) {
  const [what, setWhat] = useState<What>('move');
  const [typed, setTyped] = useState(from);
  const [overwrite, setOverwrite] = useState(false);
  const isFolder = from.endsWith('/');
  const bare = typed.replace(/^\/+|\/+$/g, '');
  const to = isFolder ? `${bare}/` : bare;
  const change = useChange(() => {
    onClose();
    onDone(to === '/' ? '' : to);
  });
  const verb = what === 'move' ? 'move' : 'copy';
  const body = { from, to, overwrite, ...(what === 'copy-all' ? { all_versions: true } : {}) };
  const flags = `${what === 'copy-all' ? '-all-versions ' : ''}${overwrite ? '-overwrite ' : ''}`;
  return (
    <FormDialog
      title={`Move or copy ${from}`}
      action={verb === 'move' ? 'Move' : 'Copy'}
      change={change}
      problem={to === from ? 'Give another path.' : undefined}
      onSend={() => (to === from ? undefined : change.mutate({ method: 'POST', path: `${mount.path}${verb}`, body }))}
      onBack={onClose}
    >
      <SelectField label="Action" value={what} onChange={setWhat} options={choices} />
      <TextField
        label="New path"
        required
        autoFocus
        value={typed}
        onChange={setTyped}
        hint={
          <>
            Below <code>{mount.path}</code>. {isFolder ? 'All secrets of the folder go there. ' : ''}Policies that name
            the old path do not follow.
          </>
        }
      />
      <CheckField label="Overwrite existing secrets" checked={overwrite} onChange={setOverwrite} />
      <SameBy
        api={`POST /v1/${mount.path}${verb}`}
        command={`keystead kv ${verb} ${flags}${mount.path}${from} ${mount.path}${to}`}
      />
    </FormDialog>
  );
}
