import { Link, useNavigate } from '@tanstack/react-router';
import { Check, Download, Pencil, Trash2, X } from 'lucide-react';
import { useState } from 'react';
import { Badge } from '../../../design/badge';
import { Button } from '../../../design/button';
import { Confirm } from '../../../design/dialog';
import { ErrorNotice } from '../../../design/error-notice';
import { CheckField, SelectField, TextField } from '../../../design/field';
import { FormDialog } from '../../../design/form';
import { Notice } from '../../../design/notice';
import { Lines, PageHead, SameBy, Skeleton } from '../../../design/page';
import { saveFile } from '../../../design/save-file';
import { useMay } from '../../may';
import { mountPage } from '../../pages';
import { encodedPath, useChange, useRead } from '../../reads';
import { crumbsTo } from '../own-page';
import { type CertificateContents, readCertificate } from './certificate';
import { CertificateFacts } from './certificate-facts';
import { Crl } from './crl';
import { useIssuers } from './issuers-of';

/** An issuer as the API shows it. */
interface Issuer {
  readonly issuer_id: string;
  readonly issuer_name: string;
  readonly key_id: string;
  readonly certificate: string;
  readonly ca_chain: readonly string[];
  readonly leaf_not_after_behavior: string;
  /** The permitted uses, separated by commas. */
  readonly usage: string;
  readonly revoked: boolean;
  readonly revocation_time_rfc3339?: string;
}

const usages = [
  ['issuing-certificates', 'Issue certificates'],
  ['crl-signing', 'Sign CRLs'],
  ['ocsp-signing', 'Sign OCSP responses'],
] as const;

/** An issuer: its certificate and chain, its permitted uses, and how to revoke or delete it. */
export function IssuerPage({ mount, id }: { readonly mount: string; readonly id: string }) {
  const path = `${mount}issuer/${id}`;
  const at = `${encodedPath(mount)}issuer/${encodeURIComponent(id)}`;
  const found = useRead<Issuer>(at);
  const { rows } = useIssuers(mount);
  const may = useMay([path, `${path}/revoke`, `${mount}config/issuers`]);
  const change = useChange();
  const navigate = useNavigate();
  const remove = useChange(() => void navigate(mountPage({ mount, tab: 'issuers' })));
  const [open, setOpen] = useState<'edit' | 'revoke' | 'delete'>();
  const close = () => setOpen(undefined);
  const issuer = found.data;
  const certificate = issuer === undefined ? undefined : readCertificate(issuer.certificate);
  const label = issuer?.issuer_name || certificate?.name || id;
  const isDefault = rows.some((row) => row.is_default && row.id === issuer?.issuer_id);
  const chain = (issuer?.ca_chain ?? []).flatMap((pem) => readCertificate(pem) ?? []);
  return (
    <div className="stack">
      <PageHead
        title={label}
        crumbs={crumbsTo(mount, 'issuers')}
        state={
          issuer === undefined ? null : (
            <span className="row">
              {isDefault ? <Badge tone="accent">default</Badge> : null}
              <State issuer={issuer} certificate={certificate} />
            </span>
          )
        }
        actions={
          issuer === undefined ? undefined : (
            <>
              {isDefault ? null : (
                <Button
                  busy={change.isPending}
                  {...may({ path: `${mount}config/issuers`, capabilities: ['update'] })}
                  onClick={() =>
                    change.mutate({
                      method: 'POST',
                      path: `${encodedPath(mount)}config/issuers`,
                      body: { default: issuer.issuer_id },
                    })
                  }
                >
                  Set as default
                </Button>
              )}
              <Button icon={Pencil} {...may({ path, capabilities: ['patch'] })} onClick={() => setOpen('edit')}>
                Edit
              </Button>
              {issuer.revoked ? null : (
                <Button
                  kind="danger"
                  {...may({ path: `${path}/revoke`, capabilities: ['update'] })}
                  onClick={() => setOpen('revoke')}
                >
                  Revoke
                </Button>
              )}
              <Button
                kind="danger"
                icon={Trash2}
                {...may({ path, capabilities: ['delete'] })}
                onClick={() => setOpen('delete')}
              >
                Delete
              </Button>
            </>
          )
        }
      />
      <ErrorNotice error={found.error ?? change.error ?? remove.error} />
      {found.isPending ? <Skeleton rows={6} /> : null}
      {issuer?.key_id === '' ? (
        <Notice tone="amber">
          This mount does not have the private key of this issuer, so it cannot issue or revoke. Import the key to use
          it.
        </Notice>
      ) : null}
      {issuer === undefined || certificate === undefined ? null : (
        <div className="columns">
          <div className="stack">
            <CertificateFacts of={certificate} />
            <section className="stack-tight" aria-labelledby="chain">
              <h2 id="chain">Chain</h2>
              <ol className="list" aria-label="Chain">
                {chain.map((one) => {
                  const row = rows.find((other) => other.certificate?.serial === one.serial);
                  return (
                    <li key={one.serial}>
                      {row === undefined || row.id === issuer.issuer_id ? (
                        <span className="strong">{one.name}</span>
                      ) : (
                        <Link {...mountPage({ mount, tab: 'issuers', name: row.id })}>{one.name}</Link>
                      )}
                      <span className="second small">
                        {one.subject === one.issuer ? 'root' : `issued by ${one.issuerName}`}
                      </span>
                    </li>
                  );
                })}
              </ol>
              {certificate.subject !== certificate.issuer && chain.length === 1 ? (
                <p className="second small">
                  The certificate of {certificate.issuerName} is not in this mount. Import it, so that clients get the
                  whole chain.
                </p>
              ) : null}
            </section>
            <section className="stack-tight" aria-labelledby="certificate">
              <h2 id="certificate">Certificate</h2>
              <div className="row">
                <Button
                  small
                  icon={Download}
                  onClick={() => saveFile(`${label}.pem`, certificate.pem, 'application/x-pem-file')}
                >
                  PEM
                </Button>
                <Button
                  small
                  icon={Download}
                  onClick={() => saveFile(`${label}.der`, certificate.der, 'application/pkix-cert')}
                >
                  DER
                </Button>
                <Button
                  small
                  icon={Download}
                  onClick={() =>
                    saveFile(`${label}-chain.pem`, chain.map(({ pem }) => pem).join(''), 'application/x-pem-file')
                  }
                >
                  Chain
                </Button>
              </div>
              <Lines text={certificate.pem} what="certificate" />
            </section>
            {issuer.key_id === '' ? null : <Crl mount={mount} issuer={issuer.issuer_id} label={label} />}
          </div>
          <aside className="stack">
            <section className="stack-tight" aria-labelledby="use">
              <h2 id="use">Used to</h2>
              <ul className="stack-tight">
                {usages.map(([usage, text]) => {
                  const isUsed = issuer.usage.includes(usage);
                  const Shape = isUsed ? Check : X;
                  return (
                    <li key={usage} className={isUsed ? 'row' : 'row second'}>
                      <Shape size={14} aria-label={isUsed ? 'yes:' : 'no:'} />
                      {text}
                    </li>
                  );
                })}
              </ul>
            </section>
            <section className="stack-tight" aria-labelledby="outlive">
              <h2 id="outlive">Certificates that would expire later</h2>
              <p>{behaviors.find(({ value }) => value === issuer.leaf_not_after_behavior)?.label}</p>
            </section>
          </aside>
        </div>
      )}
      {open === 'edit' && issuer !== undefined ? (
        <EditIssuer at={at} label={label} of={issuer} onClose={close} />
      ) : null}
      {open === 'revoke' ? (
        <Confirm
          title={`Revoke ${label}?`}
          action="Revoke issuer"
          name={label}
          danger
          busy={change.isPending}
          onClose={close}
          onConfirm={() => change.mutate({ method: 'POST', path: `${at}/revoke` }, { onSettled: close })}
        >
          <p>
            It issues no more certificates, and is added to the CRL of its issuer. The certificates it issued are no
            longer trusted where that list is checked. This cannot be undone.
          </p>
        </Confirm>
      ) : null}
      {open === 'delete' ? (
        <Confirm
          title={`Delete ${label}?`}
          action="Delete issuer"
          name={label}
          danger
          busy={remove.isPending}
          onClose={close}
          onConfirm={() => remove.mutate({ method: 'DELETE', path: at }, { onSettled: close })}
        >
          <p>
            Its certificate is removed from this mount; its key stays. The certificates it issued stay valid, but can no
            longer be revoked here.
            {isDefault ? ' It is the default issuer: choose another one afterwards.' : ''}
          </p>
        </Confirm>
      ) : null}
      <SameBy api={`GET /v1/${path}`} command={`keystead read ${path}`} />
    </div>
  );
}

function State({
  issuer,
  certificate,
}: {
  readonly issuer: Issuer;
  readonly certificate: CertificateContents | undefined;
}) {
  if (issuer.revoked) return <Badge tone="red">revoked</Badge>;
  if (certificate !== undefined && certificate.notAfterMs < Date.now()) return <Badge tone="red">expired</Badge>;
  return <Badge tone="green">valid</Badge>;
}

const behaviors = [
  { value: 'err', label: 'are refused' },
  { value: 'truncate', label: 'end with it' },
  { value: 'permit', label: 'are issued anyway' },
] as const;

function EditIssuer({
  at,
  label,
  of,
  onClose,
}: {
  readonly at: string;
  readonly label: string;
  readonly of: Issuer;
  readonly onClose: () => void;
}) {
  const [name, setName] = useState(of.issuer_name);
  const [used, setUsed] = useState<readonly string[]>(of.usage.split(','));
  const [behavior, setBehavior] = useState(of.leaf_not_after_behavior);
  const change = useChange(() => onClose());
  return (
    <FormDialog
      title={`Edit ${label}`}
      action="Save"
      change={change}
      onBack={onClose}
      onSend={() =>
        change.mutate({
          method: 'PATCH',
          path: at,
          body: { issuer_name: name, usage: used, leaf_not_after_behavior: behavior },
        })
      }
    >
      <TextField label="Name" autoFocus value={name} onChange={setName} hint="Roles and requests name it by this." />
      <fieldset className="stack-tight">
        <legend>Used to</legend>
        {usages.map(([usage, text]) => (
          <CheckField
            key={usage}
            label={text}
            checked={used.includes(usage)}
            onChange={(on) => setUsed((now) => (on ? [...now, usage] : now.filter((one) => one !== usage)))}
          />
        ))}
      </fieldset>
      <SelectField
        label="Certificates that would expire later"
        value={behavior}
        onChange={setBehavior}
        options={behaviors}
      />
    </FormDialog>
  );
}
