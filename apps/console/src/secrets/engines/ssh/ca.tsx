import { Download, FileUp, KeyRound, Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Badge } from '../../../design/badge';
import { Button } from '../../../design/button';
import { Confirm } from '../../../design/dialog';
import { ErrorNotice } from '../../../design/error-notice';
import { Command, Empty, Lines, Skeleton } from '../../../design/page';
import { saveFile } from '../../../design/save-file';
import { useSession } from '../../../shell/session';
import { useMay } from '../../may';
import { encodedPath, useChange, useListing } from '../../reads';
import { NewIssuer } from './new-issuer';

interface IssuerInfo {
  readonly issuer_name: string;
  readonly public_key: string;
  readonly is_default: boolean;
}
interface ShownIssuer extends IssuerInfo {
  readonly id: string;
}

/** The CA keys of a mount, and how hosts trust them. */
export function Ca({ mount }: { readonly mount: string }) {
  const found = useListing<IssuerInfo>(`${encodedPath(mount)}issuers`);
  const path = `${mount}issuers/import`;
  const may = useMay([path, `${mount}config/issuers`]);
  const [adding, setAdding] = useState<'generated' | 'imported'>();
  const [removing, setRemoving] = useState<ShownIssuer>();
  const change = useChange();
  const issuers = (found.data?.keys ?? []).flatMap((id): ShownIssuer[] => {
    const info = found.data?.key_info?.[id];
    return info === undefined ? [] : [{ ...info, id }];
  });
  const add = (
    <div className="row">
      <Button
        kind="primary"
        icon={Plus}
        {...may({ path, capabilities: ['update'] })}
        onClick={() => setAdding('generated')}
      >
        Generate CA key
      </Button>
      <Button icon={FileUp} {...may({ path, capabilities: ['update'] })} onClick={() => setAdding('imported')}>
        Import CA key
      </Button>
    </div>
  );
  return (
    <div className="stack">
      <ErrorNotice error={found.error ?? change.error} />
      {found.isPending ? <Skeleton /> : null}
      {found.isSuccess && issuers.length === 0 ? (
        <Empty icon={KeyRound} action={add} command={`keystead write ${mount}config/ca key_type=ed25519`}>
          A CA key signs the keys of people and hosts. Hosts trust it once, instead of a list of keys on each of them.
        </Empty>
      ) : null}
      {issuers.length === 0 ? null : add}
      {issuers.map((issuer) => (
        <section key={issuer.id} className="panel stack-tight" aria-label={nameOf(issuer)}>
          <div className="panel-head">
            <h2>{nameOf(issuer)}</h2>
            {issuer.is_default ? <Badge tone="green">default</Badge> : null}
          </div>
          <p className="second small">
            {issuer.public_key.split(' ')[0]} · <code>{issuer.id}</code>
          </p>
          <Lines text={issuer.public_key} what="public key" />
          <div className="row">
            <Button
              small
              icon={Download}
              label={`Download public key of ${nameOf(issuer)}`}
              onClick={() => saveFile(`${mount}${issuer.issuer_name || 'ca'}.pub`, issuer.public_key)}
            >
              Download public key
            </Button>
            {issuer.is_default ? null : (
              <Button
                small
                {...may({ path: `${mount}config/issuers`, capabilities: ['update'] })}
                onClick={() =>
                  change.mutate({
                    method: 'POST',
                    path: `${encodedPath(mount)}config/issuers`,
                    body: { default: issuer.id },
                  })
                }
              >
                Make default
              </Button>
            )}
            <Button
              small
              kind="danger"
              icon={Trash2}
              label={`Delete ${nameOf(issuer)}`}
              onClick={() => setRemoving(issuer)}
            >
              Delete
            </Button>
          </div>
        </section>
      ))}
      {issuers.length === 0 ? null : (
        <OnHosts mount={mount} publicKey={issuers.find((one) => one.is_default)?.public_key} />
      )}
      {adding === undefined ? null : (
        <NewIssuer
          mount={mount}
          isImported={adding === 'imported'}
          isFirst={issuers.length === 0}
          onClose={() => setAdding(undefined)}
        />
      )}
      {removing === undefined ? null : (
        <Confirm
          title={`Delete the CA key ${nameOf(removing)}?`}
          action="Delete CA key"
          name={removing.issuer_name || removing.id.slice(0, 8)}
          danger
          busy={change.isPending}
          onClose={() => setRemoving(undefined)}
          onConfirm={() =>
            change.mutate(
              { method: 'DELETE', path: `${encodedPath(mount)}issuer/${removing.id}` },
              { onSettled: () => setRemoving(undefined) },
            )
          }
        >
          <p>
            Its private key is deleted permanently. Certificates that it signed stay valid where its public key is
            trusted, so remove that from the hosts, too.
          </p>
        </Confirm>
      )}
    </div>
  );
}

const nameOf = ({ issuer_name, id }: ShownIssuer): string => issuer_name || `CA key ${id.slice(0, 8)}`;

/** How to configure hosts to trust user certificates, and clients to trust host certificates. */
function OnHosts({ mount, publicKey }: { readonly mount: string; readonly publicKey: string | undefined }) {
  const { transport } = useSession();
  const namespace = transport.headers.get('X-Service-Namespace');
  const header = namespace === undefined ? '' : ` --header 'X-Service-Namespace: ${namespace}'`;
  const file = '/etc/ssh/trusted-user-ca-keys.pem';
  return (
    <section className="stack-tight" aria-labelledby="hosts">
      <h2 id="hosts">On each host</h2>
      <p>Fetch the public keys of all CA keys, which anyone may read:</p>
      <Command text={`curl --fail${header} --output ${file} ${location.origin}/v1/${mount}public_keys`} />
      <p>
        Add this line to <code>/etc/ssh/sshd_config</code>, and reload <code>sshd</code>:
      </p>
      <Command text={`TrustedUserCAKeys ${file}`} />
      {publicKey === undefined ? null : (
        <>
          <p>
            For certificates of hosts, clients have this line in <code>~/.ssh/known_hosts</code>:
          </p>
          <Lines text={`@cert-authority *.example.com ${publicKey.trim()}\n`} what="line for known_hosts" />
        </>
      )}
    </section>
  );
}
