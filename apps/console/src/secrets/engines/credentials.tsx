import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { Button } from '../../design/button';
import { Copied } from '../../design/copy';
import { ErrorNotice } from '../../design/error-notice';
import { Facts } from '../../design/facts';
import { Form } from '../../design/form';
import { Notice } from '../../design/notice';
import { SecretValue, ValuesShown } from '../../design/secret-value';
import { Time } from '../../design/time';
import { useMay } from '../may';
import { leasePage } from '../pages';
import { encodedPath, useChange } from '../reads';

interface CredentialsAnswer {
  readonly data: Readonly<Record<string, unknown>>;
  readonly lease_id?: string;
  readonly lease_duration?: number;
  readonly warnings?: readonly string[] | null;
}

interface CredentialsField {
  readonly name: string;
  readonly label: string;
  readonly isSecret?: boolean;
}

/**
 * Gets credentials and shows them with their lease, which can be revoked. Only this page keeps them, and only while it
 * is open.
 */
export function Credentials({
  path,
  method,
  action = 'Get credentials',
  body,
  fields,
  isOnce = true,
  extra,
  children,
  commands,
}: {
  readonly path: string;
  readonly method: 'GET' | 'POST';
  readonly action?: string;
  readonly body?: object;
  readonly fields: readonly CredentialsField[];
  /** Whether the credentials can never be shown again. */
  readonly isOnce?: boolean;
  /** Additional content, shown next to the button. */
  readonly extra?: ReactNode;
  /** The fields of the form. */
  readonly children?: ReactNode;
  /** Example commands that use the credentials. */
  readonly commands?: (data: Readonly<Record<string, unknown>>) => ReactNode;
}) {
  const may = useMay([path, 'sys/leases/revoke']);
  const [endsAt, setEndsAt] = useState<number>();
  const change = useChange<CredentialsAnswer>(({ lease_duration: seconds = 0, data: { ttl } }) => {
    const secondsLeft = seconds > 0 ? seconds : Number(ttl);
    setEndsAt(secondsLeft > 0 ? Date.now() + secondsLeft * 1000 : undefined);
  });
  const revoke = useChange(() => change.reset());
  const answer = change.data;
  if (answer === undefined) {
    return (
      <div className="stack">
        {revoke.isSuccess ? <Notice tone="green">The lease was revoked: its credentials no longer work.</Notice> : null}
        <Form
          action={action}
          change={change}
          {...may({ path, capabilities: [method === 'GET' ? 'read' : 'update'] })}
          onSend={() => {
            revoke.reset();
            change.mutate({ method, path: encodedPath(path), ...(body === undefined ? {} : { body }) });
          }}
          extra={extra}
        >
          {children}
        </Form>
      </div>
    );
  }
  const lease = answer.lease_id;
  return (
    <section className="stack" role="status" aria-label="Credentials">
      {isOnce ? (
        <Notice tone="amber" alert>
          Copy them now: they are not shown again.
        </Notice>
      ) : null}
      {answer.warnings?.length ? (
        <Notice tone="amber">
          {answer.warnings.map((text) => (
            <span key={text}>{text}</span>
          ))}
        </Notice>
      ) : null}
      <ValuesShown>
        <Facts
          rows={[
            ...fields
              .filter(({ name }) => answer.data[name] !== undefined)
              .map(
                ({ name, label, isSecret }) =>
                  [label, shownValue(String(answer.data[name]), label.toLowerCase(), isSecret)] as const,
              ),
            ...(lease
              ? [
                  [
                    'Lease',
                    <Link key="lease" {...leasePage(lease)}>
                      {lease}
                    </Link>,
                  ] as const,
                ]
              : []),
            ...(endsAt === undefined
              ? []
              : [[lease ? 'Expires' : 'Next rotation', <Time key="end" at={endsAt} />] as const]),
          ]}
        />
      </ValuesShown>
      {commands?.(answer.data)}
      <ErrorNotice error={revoke.error} />
      <div className="row">
        <Button onClick={() => change.reset()}>{isOnce ? 'Get new credentials' : 'Hide'}</Button>
        {lease ? (
          <Button
            kind="danger"
            busy={revoke.isPending}
            {...may({ path: 'sys/leases/revoke', capabilities: ['update'] })}
            onClick={() => revoke.mutate({ method: 'PUT', path: 'sys/leases/revoke', body: { lease_id: lease } })}
          >
            Revoke
          </Button>
        ) : null}
      </div>
    </section>
  );
}

const shownValue = (text: string, name: string, isSecret: boolean | undefined): ReactNode =>
  isSecret ? <SecretValue name={name} value={text} /> : <Copied text={text} what={name} />;
