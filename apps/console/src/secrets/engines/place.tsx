import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, useEffect, useState } from 'react';
import { ApiError } from '../../api/api-error';
import { Button } from '../../design/button';
import { Copied } from '../../design/copy';
import { Confirm } from '../../design/dialog';
import { ErrorNotice } from '../../design/error-notice';
import { TextField } from '../../design/field';
import { SecretValue, ValuesShown } from '../../design/secret-value';
import { useSession } from '../../shell/session';
import { textOf } from '../browser/values';
import { leasePage, page } from '../pages';
import { encodedPath, useList } from '../reads';
import { bodyOf, type EnginePath, filled, isSetting, typedOf } from './document';
import { GeneratedFields, type Typed } from './form';

interface PathAnswer {
  readonly data?: Readonly<Record<string, unknown>> | null;
  readonly lease_id?: string;
  readonly lease_duration?: number;
  readonly warnings?: readonly string[] | null;
}

/** A path with its request form and its response. */
export function PlaceForm({
  mount,
  place,
  named,
  listed,
  isPart,
}: {
  readonly mount: string;
  readonly place: EnginePath;
  /** The path parameters whose values are known. */
  readonly named: Readonly<Record<string, string>>;
  /** The pattern of the path that lists the names. */
  readonly listed: string | undefined;
  /** Whether the form is part of another page. Then it is shown only if its path and parameters are known. */
  readonly isPart?: boolean;
}) {
  const { transport } = useSession();
  const queries = useQueryClient();
  const [names, setNames] = useState<Typed>(named);
  const [typed, setTyped] = useState<Typed>({});
  const [readInput, setReadInput] = useState<Typed>({});
  const [answer, setAnswer] = useState<PathAnswer>();
  const [removing, setRemoving] = useState(false);
  const { pattern, parameters, write, read, remove } = place;
  const complete = parameters.every((name) => names[name]);
  const address = `/v1/${encodedPath(mount)}${filled(pattern, names)}`;
  const send = useMutation<
    PathAnswer | undefined,
    Error,
    { method: 'GET' | 'POST' | 'DELETE'; body?: unknown; query?: string }
  >({
    gcTime: 0,
    mutationFn: ({ method, body, query = '' }) => transport.call<PathAnswer | undefined>(method, address + query, body),
    onSuccess: async (newAnswer, { method }) => {
      setAnswer(newAnswer);
      if (method !== 'GET') await queries.invalidateQueries({ queryKey: ['v1'] });
    },
  });
  const setting = isSetting(place);
  // The form shows the stored settings as soon as the path is known.
  const stored = useMutation<PathAnswer | undefined, Error, string>({
    gcTime: 0,
    mutationFn: async (from) => {
      try {
        return await transport.call<PathAnswer>('GET', from);
      } catch (error) {
        if (error instanceof ApiError && (error.status === 404 || error.status === 400)) return undefined;
        throw error;
      }
    },
    // Values typed while the request was in progress are kept.
    onSuccess: (newAnswer) =>
      setTyped((before) => ({ ...(write && newAnswer?.data ? typedOf(write.fields, newAnswer.data) : {}), ...before })),
  });
  const { mutate: load } = stored;
  const name = parameters.map((one) => names[one] ?? '').join('/');
  useEffect(() => {
    if (setting && complete && parameters.length === 0) load(address);
  }, [setting, complete, parameters.length, address, load]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!write) return;
    try {
      send.mutate({ method: 'POST', body: bodyOf(write.fields, typed) });
    } catch (error) {
      send.reset();
      setProblem(error);
    }
  };
  const [problem, setProblem] = useState<unknown>();
  const query = () => {
    const body = bodyOf(read?.fields ?? [], readInput);
    const text = new URLSearchParams(
      Object.entries(body).map(([key, value]): [string, string] => [key, String(value)]),
    );
    return text.size === 0 ? '' : `?${text}`;
  };
  return (
    <div className="stack">
      <div className="stack-tight">
        {isPart ? null : (
          <h2>
            <code>{pattern}</code>
          </h2>
        )}
        <p className="second">{place.description}</p>
        {complete && read !== undefined && !setting && !mount.startsWith('auth/') ? (
          <p>
            <Link {...page('/leases', { prefix: `${mount}${filled(pattern, names)}` })}>
              Leases that were issued here
            </Link>
          </p>
        ) : null}
      </div>
      {listed === undefined ? null : (
        <Names
          path={`${mount}${listed}`}
          chosen={name}
          onChoose={(one) => {
            const next = { ...names, [parameters.at(-1)!]: one };
            setNames(next);
            setTyped({});
            setAnswer(undefined);
            if (setting) load(`/v1/${encodedPath(mount)}${filled(pattern, next)}`);
          }}
        />
      )}
      {parameters.length === 0 || isPart ? null : (
        <div className="form">
          {parameters.map((one) => (
            <TextField
              key={one}
              label={one}
              required
              value={names[one] ?? ''}
              onChange={(value) => setNames({ ...names, [one]: value })}
            />
          ))}
        </div>
      )}
      {write === undefined ? null : (
        <form className="form" onSubmit={submit}>
          <GeneratedFields fields={write.fields} typed={typed} onChange={setTyped} />
          <div className="row">
            <Button
              type="submit"
              kind="primary"
              busy={send.isPending}
              forbidden={complete ? undefined : `${parameters.join(', ')} must be given`}
            >
              {setting ? 'Save' : write.summary.replace(/\.$/, '')}
            </Button>
            {remove === undefined || !complete ? null : (
              <Button kind="danger" onClick={() => setRemoving(true)}>
                Delete
              </Button>
            )}
          </div>
        </form>
      )}
      {read === undefined || setting ? null : (
        <form
          className="form"
          onSubmit={(event) => {
            event.preventDefault();
            send.mutate({ method: 'GET', query: query() });
          }}
        >
          <GeneratedFields fields={read.fields} typed={readInput} onChange={setReadInput} />
          <div>
            <Button
              type="submit"
              busy={send.isPending}
              forbidden={complete ? undefined : `${parameters.join(', ')} must be given`}
            >
              {read.summary.replace(/\.$/, '')}
            </Button>
          </div>
        </form>
      )}
      <ErrorNotice error={problem ?? send.error ?? stored.error} />
      {send.isSuccess ? <AnswerFacts answer={answer} /> : null}
      {removing ? (
        <Confirm
          title={`Delete ${name}?`}
          action="Delete"
          danger
          busy={send.isPending}
          onClose={() => setRemoving(false)}
          onConfirm={() =>
            send.mutate(
              { method: 'DELETE' },
              {
                onSuccess: () => {
                  setNames({});
                  setTyped({});
                },
                onSettled: () => setRemoving(false),
              },
            )
          }
        >
          <p>{remove?.summary}</p>
        </Confirm>
      ) : null}
    </div>
  );
}

function Names({
  path,
  chosen,
  onChoose,
}: {
  readonly path: string;
  readonly chosen: string;
  readonly onChoose: (name: string) => void;
}) {
  const names = useList(encodedPath(path).replace(/\/$/, ''));
  if (names.data === undefined || names.data.length === 0) {
    return <p className="second">{names.data === undefined ? '' : 'Nothing exists there yet: enter a name below.'}</p>;
  }
  return (
    <ul className="row" aria-label="Existing">
      {names.data.map((name) => (
        <li key={name}>
          <Button small kind={name === chosen ? 'primary' : 'quiet'} onClick={() => onChoose(name)}>
            {name}
          </Button>
        </li>
      ))}
    </ul>
  );
}

/** Response fields that are shown immediately. All other strings may be secret. */
const open = new Set([
  'username',
  'account_name',
  'issuer',
  'algorithm',
  'code',
  'accessor',
  'accessor_id',
  'ip',
  'key_type',
  'fingerprint',
  'public_key',
  'signed_key',
  'serial_number',
  'certificate',
  'issuing_ca',
  'csr',
  'service_account_name',
  'service_account_namespace',
  'last_vault_rotation',
]);

function AnswerFacts({ answer }: { readonly answer: PathAnswer | undefined }) {
  const data = answer?.data ?? {};
  return (
    <section className="stack-tight" aria-labelledby="answer" role="status">
      <h3 id="answer">Result</h3>
      {(answer?.warnings ?? []).map((warning) => (
        <p key={warning} className="second">
          {warning}
        </p>
      ))}
      <ValuesShown>
        <dl className="facts">
          {answer?.lease_id ? (
            <>
              <dt>lease_id</dt>
              <dd>
                <Link {...leasePage(answer.lease_id)}>{answer.lease_id}</Link>
              </dd>
            </>
          ) : null}
          {Object.entries(data).map(([name, value]) => [
            <dt key={`${name} name`}>
              <code>{name}</code>
            </dt>,
            <dd key={name}>
              {typeof value === 'boolean' || typeof value === 'number' || open.has(name) ? (
                <Copied text={textOf(value)} what={name} />
              ) : (
                <SecretValue name={name} value={textOf(value)} />
              )}
            </dd>,
          ])}
        </dl>
      </ValuesShown>
    </section>
  );
}
