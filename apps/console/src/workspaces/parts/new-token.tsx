import { useState } from 'react';
import type { Resource } from '../../api/workspaces';
import { SelectField, TextField } from '../../design/field';
import { Form } from '../../design/form';
import { fieldError } from './draft';
import { ShownOnce } from './shown-once';

/** The attributes of a new token. */
export interface TokenInput {
  readonly description: string | null;
  readonly 'expired-at': string | null;
}

/** A mutation that creates a token. */
interface Making {
  readonly mutate: (input: TokenInput) => void;
  readonly data: { data: Resource<'AuthenticationTokensResource'> | null } | undefined;
  readonly error: unknown;
  readonly isPending: boolean;
  readonly reset: () => void;
}

const usualLengths = [
  { value: '1', label: 'in a day' },
  { value: '7', label: 'in a week' },
  { value: '30', label: 'in 30 days' },
  { value: '90', label: 'in 90 days' },
  { value: '365', label: 'in a year' },
  { value: '', label: 'never' },
];

/** Creates a token, and shows it once. */
export function NewToken({
  making,
  action,
  forbidden,
  endless,
  lengths = usualLengths,
  hint,
}: {
  readonly making: Making;
  readonly action: string;
  readonly forbidden?: string | undefined;
  /** Whether tokens of this kind have no expiry. */
  readonly endless?: boolean;
  /** Lifetimes in days to choose from; an empty value means the service's default. */
  readonly lengths?: readonly { readonly value: string; readonly label: string }[];
  readonly hint?: string;
}) {
  const [description, setDescription] = useState('');
  const [days, setDays] = useState(lengths === usualLengths ? '30' : (lengths[0]?.value ?? ''));
  const text = making.data?.data?.attributes.token;
  const send = () => {
    if (forbidden !== undefined || making.isPending) return;
    const ends = days === '' || endless ? null : new Date(Date.now() + Number(days) * 86_400_000).toISOString();
    making.mutate({ description: description.trim() || null, 'expired-at': ends });
    setDescription('');
  };
  return (
    <>
      {text ? <ShownOnce name="New token" value={text} onClose={making.reset} /> : null}
      <Form layout="line" action={action} change={making} forbidden={forbidden} onSend={send}>
        <TextField
          label="Description"
          value={description}
          onChange={setDescription}
          error={fieldError(making.error, 'description')}
          {...(hint === undefined ? {} : { hint })}
        />
        {endless ? null : <SelectField label="Expires" value={days} onChange={setDays} options={lengths} />}
      </Form>
    </>
  );
}
