import { Plus, X } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../design/button';
import { CheckField, TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { IconButton } from '../../design/tip';
import { useMay } from '../may';
import type { Mount } from '../mounts';
import { encodedPath, useChange } from '../reads';

/** Metadata of a secret. */
export interface MetadataSettings {
  readonly max_versions: number;
  readonly cas_required: boolean;
  readonly delete_version_after: string;
  readonly custom_metadata: Readonly<Record<string, string>> | null;
}

interface Props {
  readonly mount: Mount;
  readonly path: string;
  readonly metadata: MetadataSettings;
}

/** Shows and edits custom metadata and version limits, which are not secret. */
export function Metadata(props: Props) {
  const { mount, path, metadata } = props;
  const [editing, setEditing] = useState(false);
  const at = `${mount.path}metadata/${path}`;
  const may = useMay([at]);
  const own = Object.entries(metadata.custom_metadata ?? {});
  return (
    <section className="stack-tight" aria-labelledby="metadata">
      <div className="panel-head">
        <h2 id="metadata">Metadata</h2>
        <Button small {...may({ path: at, capabilities: ['update'] })} onClick={() => setEditing(true)}>
          Edit metadata
        </Button>
      </div>
      <dl className="facts">
        <dt>Maximum versions</dt>
        <dd>{metadata.max_versions === 0 ? 'engine default' : metadata.max_versions}</dd>
        <dt>Check-and-set required</dt>
        <dd>{metadata.cas_required ? 'yes' : 'no'}</dd>
        <dt>Delete versions after</dt>
        <dd>{metadata.delete_version_after === '0s' ? 'never' : metadata.delete_version_after}</dd>
        {own.map(([name, value]) => [
          <dt key={`${name} name`}>
            <code>{name}</code>
          </dt>,
          <dd key={name}>{value}</dd>,
        ])}
      </dl>
      {editing ? <EditMetadata {...props} onClose={() => setEditing(false)} /> : null}
    </section>
  );
}

function EditMetadata({ mount, path, metadata, onClose }: Props & { readonly onClose: () => void }) {
  const [most, setMost] = useState(String(metadata.max_versions));
  const [isChecked, setChecked] = useState(metadata.cas_required);
  const [after, setAfter] = useState(metadata.delete_version_after);
  const [rows, setRows] = useState(() =>
    Object.entries(metadata.custom_metadata ?? {}).map(([name, value], id) => ({ id, name, value })),
  );
  const change = useChange(onClose);
  const set = (id: number, part: object) => setRows(rows.map((row) => (row.id === id ? { ...row, ...part } : row)));
  const send = () => {
    const own = rows.filter(({ name }) => name !== '').map(({ name, value }) => [name, value]);
    const body = {
      max_versions: Number(most),
      cas_required: isChecked,
      delete_version_after: after,
      custom_metadata: Object.fromEntries(own),
    };
    change.mutate({ method: 'POST', path: encodedPath(`${mount.path}metadata/${path}`), body });
  };
  return (
    <FormDialog title="Edit metadata" action="Save metadata" change={change} onSend={send} onBack={onClose}>
      <TextField
        label="Maximum versions"
        type="number"
        value={most}
        onChange={setMost}
        hint="Older versions are destroyed. 0: the setting of the engine."
      />
      <TextField label="Delete versions after" value={after} onChange={setAfter} hint="Such as 720h. 0s is never." />
      <CheckField
        label="Check-and-set required"
        checked={isChecked}
        onChange={setChecked}
        hint="A write must name the current version, so that no one overwrites a version that they have not seen."
      />
      <fieldset className="fields">
        <legend>Custom metadata</legend>
        <p className="second small">Not secret: people who may list the secret can read it.</p>
        {rows.map(({ id, name, value }) => (
          <div key={id} className="field-row">
            <TextField label="Key" value={name} onChange={(text) => set(id, { name: text })} autoFocus />
            <TextField label="Text" value={value} onChange={(text) => set(id, { value: text })} />
            <IconButton
              icon={X}
              name={`Remove ${name || 'this key'}`}
              onClick={() => setRows(rows.filter((row) => row.id !== id))}
            />
          </div>
        ))}
        <div>
          <Button
            small
            icon={Plus}
            onClick={() =>
              setRows([...rows, { id: 1 + Math.max(-1, ...rows.map(({ id }) => id)), name: '', value: '' }])
            }
          >
            Add key
          </Button>
        </div>
      </fieldset>
    </FormDialog>
  );
}
