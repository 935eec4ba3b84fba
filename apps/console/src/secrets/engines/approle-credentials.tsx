import { KeyRound } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../design/button';
import { Copied } from '../../design/copy';
import { ErrorNotice } from '../../design/error-notice';
import { Notice } from '../../design/notice';
import { SecretValue } from '../../design/secret-value';
import { Table } from '../../design/table';
import { encodedPath, useChange, useList, useRead } from '../reads';

interface SecretId {
  readonly data: { readonly secret_id: string; readonly secret_id_accessor: string; readonly secret_id_ttl: number };
}

/** AppRole credentials: the role ID, and secret IDs, created here and shown once. */
export function AppRoleCredentials({ mount, role }: { readonly mount: string; readonly role: string }) {
  const at = `${encodedPath(mount)}role/${encodeURIComponent(role)}`;
  const id = useRead<{ readonly role_id: string }>(`${at}/role-id`);
  const accessors = useList(`${at}/secret-id`);
  const make = useChange<SecretId>();
  const end = useChange();
  const [secretId, setSecretId] = useState<SecretId['data']>();
  return (
    <section className="panel stack" aria-labelledby="credentials">
      <div className="panel-head">
        <h2 id="credentials">Credentials</h2>
        <Button
          icon={KeyRound}
          busy={make.isPending}
          onClick={() =>
            make.mutate(
              { method: 'POST', path: `${at}/secret-id`, body: {} },
              { onSuccess: ({ data }) => setSecretId(data) },
            )
          }
        >
          Generate secret ID
        </Button>
      </div>
      <ErrorNotice error={id.error ?? accessors.error ?? make.error ?? end.error} />
      <dl className="facts">
        <dt>Role ID</dt>
        <dd>{id.data === undefined ? '…' : <Copied text={id.data.role_id} what="role ID" />}</dd>
      </dl>
      {secretId === undefined ? null : (
        <Notice tone="amber" alert>
          <span>Copy the secret ID now: it is not shown again.</span>
          <SecretValue name="secret ID" value={secretId.secret_id} />
        </Notice>
      )}
      {accessors.data === undefined || accessors.data.length === 0 ? (
        <p className="second small">No secret ID is valid. A program logs in with the role ID and a secret ID.</p>
      ) : (
        <Table
          label="Secret IDs"
          rows={accessors.data}
          keyOf={(one) => one}
          columns={[
            { head: 'Secret ID accessor', cell: (one) => <Copied text={one} what="accessor" /> },
            {
              head: '',
              className: 'tight',
              cell: (one) => (
                <Button
                  small
                  kind="quiet"
                  label={`Destroy ${one}`}
                  onClick={() =>
                    end.mutate({
                      method: 'POST',
                      path: `${at}/secret-id-accessor/destroy`,
                      body: { secret_id_accessor: one },
                    })
                  }
                >
                  Destroy
                </Button>
              ),
            },
          ]}
        />
      )}
    </section>
  );
}
