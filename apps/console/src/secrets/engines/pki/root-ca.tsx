import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { CheckField, SelectField } from '../../../design/field';
import { Form } from '../../../design/form';
import { Notice } from '../../../design/notice';
import { Lines } from '../../../design/page';
import { SecretValue } from '../../../design/secret-value';
import { useSession } from '../../../shell/session';
import { useMay } from '../../may';
import { mountPage } from '../../pages';
import { encodedPath, useChange, useRead } from '../../reads';
import { CaFields, CaTtlField, keyOf, newCa, subjectOf } from './ca-fields';

interface Generated {
  readonly data: { readonly issuer_id: string; readonly certificate: string; readonly private_key?: string };
}

/** The address of a mount for clients. */
export function useAddressOf(mount: string): string {
  const { transport } = useSession();
  const namespace = transport.headers.get('X-Service-Namespace') ?? '';
  return `${location.origin}/v1/${encodedPath(namespace + mount).replace(/\/$/, '')}`;
}

/** Creates a root CA. */
export function RootCa({ mount }: { readonly mount: string }) {
  const at = encodedPath(mount);
  const address = useAddressOf(mount);
  const urls = useRead<{ readonly issuing_certificates: readonly string[] }>(`${at}config/urls`);
  const hasUrls = urls.data === undefined || urls.data.issuing_certificates.length > 0;
  const [authority, setAuthority] = useState(newCa);
  const [isShown, setShown] = useState('internal');
  const [setsUrls, setSetsUrls] = useState(true);
  const navigate = useNavigate();
  const [generated, setGenerated] = useState<Generated['data']>();
  const path = `${mount}root/generate/${isShown}`;
  const may = useMay([path]);
  const addresses = useChange();
  const change = useChange<Generated>(({ data }) => {
    if (data.private_key === undefined) void navigate(mountPage({ mount, tab: 'issuers', name: data.issuer_id }));
    else setGenerated(data);
  });
  const send = async () => {
    if (!hasUrls && setsUrls) {
      await addresses.mutateAsync({ method: 'POST', path: `${at}config/urls`, body: urlsAt(address) });
    }
    const { issuer_name, ttl } = authority;
    change.mutate({
      method: 'POST',
      path: `${at}root/generate/${isShown}`,
      body: { ...subjectOf(authority), ...keyOf(authority), ttl, ...(issuer_name === '' ? {} : { issuer_name }) },
    });
  };
  if (generated !== undefined) {
    return (
      <div className="stack">
        <Notice tone="amber" alert>
          <span>Copy the private key now: it is not shown again.</span>
          <SecretValue name="private key" value={generated.private_key ?? ''} />
        </Notice>
        <Lines text={generated.certificate} what="certificate" />
        <p>
          <Link className="button primary" {...mountPage({ mount, tab: 'issuers', name: generated.issuer_id })}>
            Continue
          </Link>
        </p>
      </div>
    );
  }
  return (
    <Form
      action="Create root CA"
      change={{ isPending: change.isPending || addresses.isPending, error: addresses.error ?? change.error }}
      {...may({ path, capabilities: ['update'] })}
      onSend={() => void send().catch(() => undefined)}
    >
      <CaFields
        example="Root"
        authority={authority}
        onChange={(part) => setAuthority((before) => ({ ...before, ...part }))}
      />
      <CaTtlField
        mount={mount}
        ttl={authority.ttl}
        onChange={(ttl) => setAuthority((before) => ({ ...before, ttl }))}
      />
      <SelectField
        label="Private key"
        value={isShown}
        onChange={setShown}
        options={[
          { value: 'internal', label: 'never leaves this service (internal)' },
          { value: 'exported', label: 'is shown once after creation (exported)' },
        ]}
      />
      {hasUrls ? null : (
        <CheckField
          label="Put the addresses of this CA into certificates"
          checked={setsUrls}
          onChange={setSetsUrls}
          hint={`Clients then find its certificate, CRL and OCSP responder: ${address}`}
        />
      )}
    </Form>
  );
}

/** The URLs in certificates that lead to the CA's certificate, CRL and OCSP responder. */
const urlsAt = (address: string) => ({
  issuing_certificates: [`${address}/ca`],
  crl_distribution_points: [`${address}/crl`],
  ocsp_servers: [`${address}/ocsp`],
});
