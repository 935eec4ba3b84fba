import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { TextField } from '../../design/field';
import { Skeleton } from '../../design/page';
import { useSession } from '../../shell/session';

/** Progress of an operation that needs several key holders. */
export interface CeremonyState {
  readonly nonce: string;
  readonly started: boolean;
  readonly progress: number;
  readonly required: number;
  readonly complete?: boolean;
  readonly n?: number;
  readonly t?: number;
  readonly otp?: string;
  readonly encoded_token?: string;
  readonly keys_base64?: readonly string[];
}

/** A response with or without an envelope: older paths have none. */
type Said = CeremonyState & { readonly data?: CeremonyState };
const stateOf = (answer: Said): CeremonyState => answer.data ?? answer;

export interface CeremonyProps {
  /** The paths that start the operation, show its progress and cancel it, and that take key shares. */
  readonly at: string;
  readonly give: string;
  readonly title: string;
  readonly about: string;
  /** Creates the body of the request that starts the operation. */
  readonly body?: () => object;
  readonly begin: string;
  readonly fields?: ReactNode;
  /** Called with the response that starts the operation. */
  readonly onBegun?: (state: CeremonyState) => void;
  readonly onDone: (state: CeremonyState) => void;
  readonly children?: ReactNode;
}

/** An operation that needs several key shares: one person starts it, each holder enters a key, everyone sees the progress. */
export function Ceremony({ at, give, title, about, body, begin, fields, onBegun, onDone, children }: CeremonyProps) {
  const { transport } = useSession();
  const queries = useQueryClient();
  const [key, setKey] = useState('');
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const queryKey = ['v1', at];
  const { data: state, error: unread } = useQuery<CeremonyState>({
    queryKey,
    queryFn: async () => stateOf(await transport.call<Said>('GET', `/v1/${at}`)),
    refetchInterval: ({ state: { data } }) => (data?.started ? 3000 : false),
  });
  const send = async (
    method: string,
    path: string,
    sent: object | undefined,
    then?: (answer: CeremonyState) => void,
  ) => {
    setBusy(true);
    setError(undefined);
    try {
      const answer = await transport.call<Said | undefined>(method, `/v1/${path}`, sent);
      if (answer !== undefined) then?.(stateOf(answer));
    } catch (failure) {
      setError(failure);
    }
    await queries.invalidateQueries({ queryKey });
    setBusy(false);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (state === undefined || busy) return;
    if (!state.started) void send('PUT', at, body?.() ?? {}, onBegun);
    else
      void send('PUT', give, { key: key.trim(), nonce: state.nonce }, (answer) => {
        setKey('');
        if (answer.complete) onDone(answer);
      });
  };
  const id = at.replace(/\W+/g, '-');
  return (
    <section className="stack-tight" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <p className="second">{about}</p>
      {children}
      <ErrorNotice error={unread} />
      {state === undefined ? (
        unread === null ? (
          <Skeleton rows={2} />
        ) : null
      ) : (
        <form className="form" onSubmit={submit}>
          {state.started ? (
            <>
              <p role="status">
                {state.progress} of {state.required} keys given
              </p>
              <progress value={state.progress} max={state.required} aria-label={`Key shares entered: ${title}`} />
              <TextField
                label="Key"
                masked
                required
                value={key}
                onChange={setKey}
                hint="Each holder enters their key, here or in their own session."
              />
            </>
          ) : (
            fields
          )}
          <ErrorNotice error={error} />
          <div className="row">
            <Button type="submit" busy={busy}>
              {state.started ? 'Give this key' : begin}
            </Button>
            {state.started ? <Button onClick={() => void send('DELETE', at, undefined)}>Cancel</Button> : null}
          </div>
        </form>
      )}
    </section>
  );
}
