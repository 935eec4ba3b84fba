import { useNavigate } from '@tanstack/react-router';
import { Download } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../../design/button';
import { SelectField } from '../../../design/field';
import { Form } from '../../../design/form';
import { Empty, Lines } from '../../../design/page';
import { saveFile } from '../../../design/save-file';
import { useMay } from '../../may';
import { useMounts } from '../../mounts';
import { mountPage } from '../../pages';
import { encodedPath, useChange } from '../../reads';
import { PastedField } from '../pasted-field';
import { type AskedCa, CaFields, CaTtlField, keyOf, newCa, subjectOf } from './ca-fields';
import { useIssuers } from './issuers-of';

interface Requested {
  readonly data: { readonly csr: string; readonly key_id: string };
}
interface Imported {
  readonly data: {
    readonly imported_issuers: readonly string[] | null;
    /** The id of the key for the id of each issuer. */
    readonly mapping: Readonly<Record<string, string>>;
  };
}

/** Imports signed certificates into the mount, and returns the issuer whose key is in the mount. */
function useSigned(mount: string) {
  const at = encodedPath(mount);
  const importing = useChange<Imported>();
  const named = useChange();
  const navigate = useNavigate();
  return {
    isPending: importing.isPending || named.isPending,
    error: importing.error ?? named.error,
    async take(certificate: string, name: string) {
      const { data } = await importing.mutateAsync({
        method: 'POST',
        path: `${at}intermediate/set-signed`,
        body: { certificate },
      });
      const [id] = Object.entries(data.mapping).find(([, key]) => key !== '') ?? [];
      if (id !== undefined && name !== '') {
        await named.mutateAsync({ method: 'PATCH', path: `${at}issuer/${id}`, body: { issuer_name: name } });
      }
      await navigate(mountPage({ mount, tab: 'issuers', ...(id === undefined ? {} : { name: id }) }));
    },
  };
}

/** Creates the key and the CSR of a CA, and creates new ones only if the input has changed. */
function useCsr(mount: string) {
  const change = useChange<Requested>();
  const [created, setCreated] = useState<{ readonly csr: string; readonly of: string }>();
  return {
    csr: created?.csr,
    isPending: change.isPending,
    error: change.error,
    async create(authority: AskedCa): Promise<string> {
      const body = { ...subjectOf(authority), ...keyOf(authority) };
      const of = JSON.stringify(body);
      if (created?.of === of) return created.csr;
      const path = `${encodedPath(mount)}intermediate/generate/internal`;
      const { data } = await change.mutateAsync({ method: 'POST', path, body });
      setCreated({ csr: data.csr, of });
      return data.csr;
    },
  };
}

/** Creates an intermediate CA whose certificate another mount signs immediately. */
export function InternalIntermediate({ mount }: { readonly mount: string }) {
  const { secret, known } = useMounts();
  const others = secret.filter(({ type, path }) => type === 'pki' && path !== mount);
  const [chosen, setChosen] = useState('');
  const signer = chosen || (others[0]?.path ?? '');
  const [authority, setAuthority] = useState<AskedCa>({ ...newCa, ttl: '43800h' });
  if (known && others.length === 0) {
    return (
      <Empty>
        There is no other PKI mount whose CA could sign it. Enable another engine of the type PKI for the root CA first.
      </Empty>
    );
  }
  return known ? (
    <SignedBy
      key={signer}
      mount={mount}
      signer={signer}
      authority={authority}
      onChange={(part) => setAuthority((before) => ({ ...before, ...part }))}
      others={others.map(({ path }) => path)}
      onChoose={setChosen}
    />
  ) : null;
}

function SignedBy({
  mount,
  signer,
  authority,
  onChange,
  others,
  onChoose,
}: {
  readonly mount: string;
  readonly signer: string;
  /** The mounts that may sign. */
  readonly others: readonly string[];
  readonly onChoose: (signer: string) => void;
  readonly authority: AskedCa;
  readonly onChange: (part: Partial<AskedCa>) => void;
}) {
  const { rows, isPending } = useIssuers(signer);
  const able = rows.filter(({ key_id }) => key_id !== '');
  const [ref, setRef] = useState('');
  const issuer = ref || (able[0]?.id ?? '');
  const isAble = issuer !== '' || isPending;
  const csr = useCsr(mount);
  const sign = useChange<{ readonly data: { readonly ca_chain: readonly string[] } }>();
  const signed = useSigned(mount);
  const signPath = `${signer}issuer/${issuer}/sign-intermediate`;
  const may = useMay([signPath, `${mount}intermediate/generate/internal`]);
  const send = async () => {
    const request = await csr.create(authority);
    const { data } = await sign.mutateAsync({
      method: 'POST',
      path: encodedPath(signPath),
      body: { csr: request, ...subjectOf(authority), ttl: authority.ttl },
    });
    await signed.take(data.ca_chain.join('\n'), authority.issuer_name);
  };
  const either = may({ path: signPath, capabilities: ['update'] });
  return (
    <Form
      action="Create intermediate CA"
      change={{
        isPending: csr.isPending || sign.isPending || signed.isPending,
        error: csr.error ?? sign.error ?? signed.error,
      }}
      {...(isAble ? either : { forbidden: `${signer} has no CA with a key.` })}
      onSend={() => void send().catch(() => undefined)}
    >
      <SelectField
        label="Signed by the mount"
        value={signer}
        onChange={onChoose}
        options={others}
        error={isAble ? undefined : 'This mount has no CA with a key.'}
      />
      {able.length > 1 ? (
        <SelectField
          label="Signed by the issuer"
          value={issuer}
          onChange={setRef}
          options={able.map(({ id, label, is_default }) => ({
            value: id,
            label: is_default ? `${label} (default)` : label,
          }))}
        />
      ) : able[0] === undefined ? null : (
        <p className="second">
          Signed by <span className="strong">{able[0].label}</span>.
        </p>
      )}
      <CaFields example="Issuing" authority={authority} onChange={onChange} />
      {signer === '' ? null : <CaTtlField mount={signer} ttl={authority.ttl} onChange={(ttl) => onChange({ ttl })} />}
    </Form>
  );
}

/** Creates an intermediate CA whose certificate is signed outside of this service. */
export function ExternalIntermediate({ mount }: { readonly mount: string }) {
  const [authority, setAuthority] = useState(newCa);
  const [text, setText] = useState('');
  const csr = useCsr(mount);
  const signed = useSigned(mount);
  const path = `${mount}intermediate/generate/internal`;
  const may = useMay([path, `${mount}intermediate/set-signed`]);
  if (csr.csr === undefined) {
    return (
      <Form
        action="Create request"
        change={csr}
        {...may({ path, capabilities: ['update'] })}
        onSend={() => void csr.create(authority).catch(() => undefined)}
      >
        <CaFields
          example="Issuing"
          authority={authority}
          onChange={(part) => setAuthority((before) => ({ ...before, ...part }))}
        />
      </Form>
    );
  }
  const request = csr.csr;
  return (
    <ol className="steps">
      <li>
        <p className="strong">Have this request (CSR) signed</p>
        <p className="second">
          Its key stays in this mount. If you leave this page, give the signed certificate to “Import a CA” later.
        </p>
        <Lines text={request} what="CSR" />
        <Button small icon={Download} onClick={() => saveFile(`${authority.common_name}.csr`, request)}>
          Download
        </Button>
      </li>
      <li>
        <p className="strong">Give back the certificate</p>
        <Form
          action="Finish"
          change={signed}
          {...may({ path: `${mount}intermediate/set-signed`, capabilities: ['update'] })}
          onSend={() => void signed.take(text, authority.issuer_name).catch(() => undefined)}
        >
          <PastedField label="Signed certificate and its chain" value={text} onChange={setText} />
        </Form>
      </li>
    </ol>
  );
}
