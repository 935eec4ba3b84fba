import type { ReactNode } from 'react';
import { PickerField } from '../../design/picker';
import { type ChoiceKind, useChoices } from './choices';

/** Picks several objects of an organization by a part of their names. */
export function ChoicesField({
  label,
  kind,
  organization,
  chosen,
  onChange,
  hint,
}: {
  readonly label: string;
  readonly kind: ChoiceKind;
  readonly organization: string;
  /** The ids of the chosen objects. */
  readonly chosen: readonly string[];
  readonly onChange: (ids: string[]) => void;
  readonly hint?: ReactNode;
}) {
  const { choices = [] } = useChoices(kind, organization);
  return (
    <PickerField
      label={label}
      options={choices.map(({ id, name }) => ({ value: id, label: name }))}
      chosen={chosen}
      onChange={onChange}
      placeholder={`Choose ${kind}`}
      {...(hint === undefined ? {} : { hint })}
    />
  );
}
