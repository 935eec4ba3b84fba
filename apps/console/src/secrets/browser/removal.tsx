import { useState } from 'react';
import { Button } from '../../design/button';
import { Confirm, Dialog } from '../../design/dialog';
import { ErrorNotice } from '../../design/error-notice';
import { hasVersions, type Mount } from '../mounts';
import { encodedPath, useChange } from '../reads';
import { valuesAt } from './values';

/** Deletes a secret; if the engine keeps versions, either the latest version or all of them. */
export function Removal({
  mount,
  path,
  onClose,
  onGone,
}: {
  readonly mount: Mount;
  readonly path: string;
  readonly onClose: () => void;
  readonly onGone: () => void;
}) {
  const versioned = hasVersions(mount);
  const [all, setAll] = useState(!versioned);
  const change = useChange();
  const name = path.split('/').at(-1)!;
  if (!all) {
    return (
      <Dialog title={`Delete ${name}`} onClose={onClose}>
        <p>
          Deleting hides the newest version, which you can undelete. You cannot restore a secret that is deleted with
          all versions and metadata.
        </p>
        <ErrorNotice error={change.error} />
        <div className="row end">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="danger" onClick={() => setAll(true)}>
            Delete all versions…
          </Button>
          <Button
            kind="danger primary"
            busy={change.isPending}
            onClick={() =>
              change.mutate({ method: 'DELETE', path: encodedPath(valuesAt(mount, path)) }, { onSuccess: onClose })
            }
          >
            Delete the newest version
          </Button>
        </div>
      </Dialog>
    );
  }
  return (
    <Confirm
      title={versioned ? `Delete ${name} with all versions?` : `Delete ${name}?`}
      action={versioned ? 'Delete all versions' : 'Delete the secret'}
      name={name}
      danger
      busy={change.isPending}
      onClose={onClose}
      onConfirm={() =>
        change.mutate(
          {
            method: 'DELETE',
            path: encodedPath(versioned ? `${mount.path}metadata/${path}` : valuesAt(mount, path)),
          },
          {
            onSuccess: () => {
              onClose();
              onGone();
            },
          },
        )
      }
    >
      <p>It cannot be restored.</p>
      <ErrorNotice error={change.error} />
    </Confirm>
  );
}
