import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ApiError } from '../../api/api-error';
import { Badge } from '../../design/badge';
import { Button, CreateButton } from '../../design/button';
import { Copied } from '../../design/copy';
import { Confirm, Dialog } from '../../design/dialog';
import { ErrorNotice } from '../../design/error-notice';
import { CheckField, SelectField, TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { Notice } from '../../design/notice';
import { Empty, PageHead, SameBy, Skeleton } from '../../design/page';
import { SecretValue } from '../../design/secret-value';
import { passkeyMountOf, useSession } from '../../shell/session';
import { useMounts } from '../mounts';
import { useChange } from '../reads';
import { Enforcements } from './enforcements';
import { entityIdOf } from './entity-id';
import { PersonField } from './identity-pickers';
import { Passkeys } from './passkeys';
import { RemoveFactor } from './remove-factor';

interface FactorMethod {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly issuer: string;
  readonly digits: number;
  readonly period: number;
  readonly accept_passkeys?: boolean;
}
interface MethodList {
  readonly keys: readonly string[];
  readonly key_info: Readonly<Record<string, FactorMethod>>;
}
interface NewSecret {
  readonly barcode: string;
  readonly url: string;
  readonly recovery_codes?: readonly string[];
}

const nameOf = ({ name, issuer }: FactorMethod): string => name || issuer;

/** MFA methods, enrolment, and login enforcements. */
export function SecondFactor() {
  const { transport, session, config } = useSession();
  const [making, setMaking] = useState(false);
  const [removing, setRemoving] = useState<FactorMethod>();
  const [deleting, setDeleting] = useState<FactorMethod>();
  const change = useChange(() => setDeleting(undefined));
  const [enrolling, setEnrolling] = useState<{ readonly method: FactorMethod; readonly entity: string | undefined }>();
  const found = useQuery<MethodList>({
    queryKey: ['v1', 'mfa'],
    queryFn: async () => {
      try {
        return (await transport.call<{ data: MethodList }>('GET', '/v1/identity/mfa/method/totp?list=true')).data;
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return { keys: [], key_info: {} };
        throw error;
      }
    },
  });
  const methods = (found.data?.keys ?? []).flatMap((id) => found.data?.key_info[id] ?? []);
  const takesPasskeys = config['sign-in'].some(({ method }) => method === 'passkey');
  const passkeyMount = takesPasskeys ? passkeyMountOf(session) : undefined;
  // A user without access to MFA methods may still have passkeys.
  const isDenied = passkeyMount !== undefined && found.error instanceof ApiError && found.error.status === 403;
  const own = session['entity-id'] ?? undefined;
  return (
    <div className="stack">
      <PageHead
        title="MFA"
        actions={isDenied ? null : <CreateButton onClick={() => setMaking(true)}>Create method</CreateButton>}
      />
      {isDenied ? (
        <p className="second">Your policies do not let you list MFA methods.</p>
      ) : (
        <ErrorNotice error={found.error} onRetry={() => void found.refetch()} />
      )}
      {found.isPending ? <Skeleton rows={2} /> : null}
      {found.data !== undefined && methods.length === 0 ? (
        <Empty action={<CreateButton onClick={() => setMaking(true)}>Create method</CreateButton>}>
          A method defines one-time codes. People enroll in it, and a login enforcement requires it.
        </Empty>
      ) : null}
      {methods.length === 0 ? null : (
        <ul className="list" aria-label="Methods">
          {methods.map((method) => (
            <li key={method.id}>
              <span className="strong">{nameOf(method)}</span>
              <span className="second small">
                {method.digits} digits every {method.period} s
              </span>
              {method.accept_passkeys ? <Badge>passkeys need no code</Badge> : null}
              <span className="grow" />
              <Button
                small
                forbidden={own === undefined ? 'this session has no entity: sign in with a name' : undefined}
                onClick={() => setEnrolling({ method, entity: own })}
              >
                Enroll yourself
              </Button>
              <Button small onClick={() => setEnrolling({ method, entity: undefined })}>
                Enroll someone
              </Button>
              <Button
                small
                kind="danger"
                label={`Remove a factor at ${nameOf(method)}`}
                onClick={() => setRemoving(method)}
              >
                Remove a factor
              </Button>
              <Button small kind="danger" label={`Delete method ${nameOf(method)}`} onClick={() => setDeleting(method)}>
                Delete
              </Button>
            </li>
          ))}
        </ul>
      )}
      {passkeyMount === undefined ? null : <Passkeys at={passkeyMount} />}
      {found.data === undefined ? null : (
        <Enforcements methods={methods.map((method) => ({ id: method.id, name: nameOf(method) }))} />
      )}
      {removing === undefined ? null : (
        <RemoveFactor method={{ id: removing.id, name: nameOf(removing) }} onClose={() => setRemoving(undefined)} />
      )}
      {deleting === undefined ? null : (
        <Confirm
          title={`Delete method ${nameOf(deleting)}?`}
          action="Delete method"
          name={nameOf(deleting)}
          danger
          busy={change.isPending}
          onClose={() => setDeleting(undefined)}
          onConfirm={() => change.mutate({ method: 'DELETE', path: `identity/mfa/method/totp/${deleting.id}` })}
        >
          <p>
            The MFA secrets of all people for this method are deleted. Login enforcements that use it must go first.
          </p>
          <ErrorNotice error={change.error} />
        </Confirm>
      )}
      {making ? <NewMethod onClose={() => setMaking(false)} /> : null}
      {enrolling === undefined ? null : <Enrol {...enrolling} onClose={() => setEnrolling(undefined)} />}
      <SameBy api="LIST /v1/identity/mfa/method/totp" command="keystead list identity/mfa/method/totp" />
    </div>
  );
}

function NewMethod({ onClose }: { readonly onClose: () => void }) {
  const [form, setForm] = useState({ method_name: '', issuer: 'Keystead', digits: '6' });
  const [acceptsPasskeys, setAcceptsPasskeys] = useState(false);
  const change = useChange(() => onClose());
  const set = (name: keyof typeof form) => (value: string) => setForm((before) => ({ ...before, [name]: value }));
  const send = () => {
    const { method_name, issuer, digits } = form;
    const body = {
      issuer,
      digits: Number(digits),
      ...(method_name === '' ? {} : { method_name }),
      ...(acceptsPasskeys ? { accept_passkeys: true } : {}),
    };
    change.mutate({ method: 'POST', path: 'identity/mfa/method/totp', body });
  };
  return (
    <FormDialog title="Create method" action="Create method" change={change} onSend={send} onBack={onClose}>
      <TextField label="Name" autoFocus value={form.method_name} onChange={set('method_name')} />
      <TextField
        label="Issuer"
        required
        value={form.issuer}
        onChange={set('issuer')}
        hint="Shown in authenticator apps."
      />
      <SelectField label="Digits" value={form.digits} onChange={set('digits')} options={['6', '8']} />
      <CheckField
        label="A login with a passkey needs no code"
        checked={acceptsPasskeys}
        onChange={setAcceptsPasskeys}
      />
    </FormDialog>
  );
}

function Enrol({
  method,
  entity,
  onClose,
}: {
  readonly method: FactorMethod;
  readonly entity: string | undefined;
  readonly onClose: () => void;
}) {
  const [person, setPerson] = useState('');
  const { transport } = useSession();
  const mounts = useMounts();
  const [generated, setGenerated] = useState<NewSecret>();
  const [unknown, setUnknown] = useState<unknown>();
  const change = useChange<{ data: NewSecret | null }>((answer) => setGenerated(answer.data ?? undefined));
  const send = async (event: FormEvent) => {
    event.preventDefault();
    setUnknown(undefined);
    const own = entity !== undefined;
    try {
      change.mutate({
        method: 'POST',
        path: `identity/mfa/method/totp/${own ? 'generate' : 'admin-generate'}`,
        body: { method_id: method.id, ...(own ? {} : { entity_id: await entityIdOf(transport, mounts.auth, person) }) },
      });
    } catch (error) {
      setUnknown(error);
    }
  };
  return (
    <Dialog title={entity === undefined ? 'Enroll someone' : 'Enroll yourself'} onClose={onClose}>
      {generated === undefined ? (
        <form className="stack" onSubmit={(event) => void send(event)}>
          {entity === undefined ? (
            <PersonField value={person} onChange={setPerson} />
          ) : (
            <p>Creates a secret for your authenticator app. It is shown once.</p>
          )}
          {change.isSuccess ? (
            <Notice tone="amber">There is a secret already. If it is lost, an administrator can remove it.</Notice>
          ) : null}
          <ErrorNotice error={unknown ?? change.error} />
          <div className="row end">
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" kind="primary" busy={change.isPending}>
              Create secret
            </Button>
          </div>
        </form>
      ) : (
        <div className="stack">
          <p>Scan this with an authenticator app. It is not shown again.</p>
          <img className="qr" src={`data:image/png;base64,${generated.barcode}`} alt="The secret as a QR code" />
          <p className="second small">
            Or type it:{' '}
            <SecretValue name="secret" value={new URL(generated.url).searchParams.get('secret') ?? generated.url} />
          </p>
          {generated.recovery_codes && generated.recovery_codes.length > 0 ? (
            <div className="stack-tight">
              <h3>Recovery codes, each good once</h3>
              <Copied text={generated.recovery_codes.join(' ')} what="recovery codes" />
            </div>
          ) : null}
          <div className="row end">
            <Button kind="primary" onClick={onClose}>
              Done
            </Button>
          </div>
        </div>
      )}
    </Dialog>
  );
}
