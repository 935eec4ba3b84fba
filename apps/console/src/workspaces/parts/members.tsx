import { useState } from 'react';
import type { WorkspacesApi } from '../../api/workspaces';
import { Form } from '../../design/form';
import { type ApiAnswer, useChange } from '../api';
import { ChoiceField } from './choice-field';
import type { ChoiceKind } from './choices';
import { RemoveButton } from './remove-button';

/** The members of a set, each removable, and a choice to add more. */
export function Members({
  heading,
  label,
  kind,
  org,
  names,
  members,
  add,
  remove,
  forbidden,
}: {
  readonly heading: string;
  /** The label of the choice. */
  readonly label: string;
  readonly kind: ChoiceKind;
  readonly org: string;
  /** The names of the members, by id. */
  readonly names: ReadonlyMap<string, string>;
  readonly members: readonly { readonly id: string }[];
  readonly add: (api: WorkspacesApi, id: string) => Promise<ApiAnswer<unknown>>;
  readonly remove: (api: WorkspacesApi, id: string) => Promise<ApiAnswer<unknown>>;
  readonly forbidden: string | undefined;
}) {
  const [chosen, setChosen] = useState('');
  const adding = useChange(add, () => setChosen(''));
  const nameOf = (id: string) => names.get(id) ?? id;
  return (
    <section className="stack-tight">
      <h2>{heading}</h2>
      {members.length === 0 ? <p className="second">None.</p> : null}
      {members.length === 0 ? null : (
        <ul className="list">
          {members.map(({ id }) => (
            <li key={id} className="spread">
              <span>{nameOf(id)}</span>
              <RemoveButton
                label={`Remove ${nameOf(id)}`}
                text="Remove"
                title={`Remove ${nameOf(id)}?`}
                call={(api) => remove(api, id)}
                forbidden={forbidden}
              />
            </li>
          ))}
        </ul>
      )}
      <Form
        layout="line"
        action="Add"
        change={adding}
        forbidden={forbidden ?? (chosen === '' ? `Choose one of the ${kind} first.` : undefined)}
        onSend={() => adding.mutate(chosen)}
      >
        <ChoiceField
          label={label}
          kind={kind}
          organization={org}
          value={chosen}
          onChange={setChosen}
          none="Choose …"
          leaveOut={({ id }) => members.some((one) => one.id === id)}
        />
      </Form>
    </section>
  );
}
