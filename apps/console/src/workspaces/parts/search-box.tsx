import { type FormEvent, useState } from 'react';
import { Button } from '../../design/button';
import { TextField } from '../../design/field';

/** A search field. A submitted search becomes part of the page's address. */
export function SearchBox({
  label,
  value,
  onSearch,
}: {
  readonly label: string;
  readonly value: string | undefined;
  readonly onSearch: (value: string) => void;
}) {
  const [draft, setDraft] = useState(value ?? '');
  const send = (event: FormEvent) => {
    event.preventDefault();
    onSearch(draft.trim());
  };
  return (
    <search>
      <form className="search-box" onSubmit={send}>
        <TextField label={label} type="search" value={draft} onChange={setDraft} />
        <Button type="submit">Search</Button>
      </form>
    </search>
  );
}
