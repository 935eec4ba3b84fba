import { useMemo, useState } from 'react';
import type { Resource } from '../../api/workspaces';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { CheckField, SelectField } from '../../design/field';
import { Skeleton } from '../../design/page';
import { useContent } from '../api';
import { Attributes } from '../runs/resource-tree';
import { compareStates, ownPath, type StateFile } from './state-diff';

export type StateVersion = Resource<'StateVersionsResource'>;

/** Shows the differences between two states. The user can choose the older state. */
export function StateComparison({
  older,
  newer,
  choices,
  onChoose,
  onClose,
}: {
  readonly older: StateVersion;
  readonly newer: StateVersion;
  /** The states to choose from. */
  readonly choices: readonly StateVersion[];
  readonly onChoose: (id: string) => void;
  readonly onClose: () => void;
}) {
  const before = useContent<StateFile>(ownPath(older.attributes['hosted-state-download-url']));
  const after = useContent<StateFile>(ownPath(newer.attributes['hosted-state-download-url']));
  const [shows, setShows] = useState(false);
  const differences = useMemo(
    () => (before.data && after.data ? compareStates(before.data, after.data) : undefined),
    [before.data, after.data],
  );
  return (
    <section className="stack-tight boxed-section" aria-label="Comparison of two states">
      <div className="row spread">
        <h2>
          Serial {older.attributes.serial} → {newer.attributes.serial}
        </h2>
        <div className="row bottom">
          <SelectField
            label="Compare with"
            value={older.id}
            onChange={onChoose}
            options={choices
              .filter(({ attributes: { serial } }) => serial < newer.attributes.serial)
              .map(({ id, attributes: { serial } }) => ({ value: id, label: String(serial) }))}
          />
          <CheckField label="Show values" checked={shows} onChange={setShows} />
          <Button small onClick={onClose}>
            Close
          </Button>
        </div>
      </div>
      <ErrorNotice error={before.error ?? after.error} />
      {differences === undefined ? before.error === null && after.error === null ? <Skeleton /> : null : null}
      {differences?.length === 0 ? <p>Only the serial differs.</p> : null}
      <ul className="changes">
        {differences?.map(({ address, kind, attributes }) => (
          <li key={address}>
            <details className="change">
              <summary>
                <span className={`mark ${kind}`} aria-hidden="true">
                  {{ added: '+', removed: '−', changed: '~' }[kind]}
                </span>
                <code>{address}</code>
                <span className="second small">{kind}</span>
              </summary>
              {shows ? (
                <Attributes all={attributes} />
              ) : (
                <p className="second small">
                  {attributes.map(({ path }) => path).join(', ') || 'nothing'}; the values are hidden.
                </p>
              )}
            </details>
          </li>
        ))}
      </ul>
    </section>
  );
}
