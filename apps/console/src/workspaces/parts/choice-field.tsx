import { useState } from 'react';
import { SelectField, TextField } from '../../design/field';
import { type Choice, type ChoiceKind, useChoices } from './choices';

export interface ChoiceFieldProps {
  readonly label: string;
  readonly kind: ChoiceKind;
  readonly organization: string;
  /** The id of the chosen object; empty for none. */
  readonly value: string;
  readonly onChange: (id: string) => void;
  /** The text to show if no object is chosen. */
  readonly none: string;
  readonly leaveOut?: (choice: Choice) => boolean;
}

/** Chooses one of any number of objects. If there are more than a list can show, it searches by name. */
export function ChoiceField({ label, kind, organization, value, onChange, none, leaveOut }: ChoiceFieldProps) {
  const { choices = [], total, isLong, part, setPart } = useChoices(kind, organization);
  const [chosen, setChosen] = useState<Choice>();
  const available = choices.filter((choice) => !leaveOut?.(choice));
  const chosenBefore =
    chosen !== undefined && chosen.id === value && !available.some(({ id }) => id === value) ? [chosen] : [];
  const choose = (id: string) => {
    setChosen(available.find((one) => one.id === id));
    onChange(id);
  };
  return (
    <>
      {isLong ? (
        <TextField
          label={`Find among ${total.toLocaleString('en')} ${kind}`}
          type="search"
          value={part}
          onChange={setPart}
          placeholder="part of a name"
        />
      ) : null}
      <SelectField
        label={label}
        value={value}
        onChange={choose}
        options={[
          { value: '', label: none },
          ...[...chosenBefore, ...available].map(({ id, name }) => ({ value: id, label: name })),
        ]}
      />
    </>
  );
}
