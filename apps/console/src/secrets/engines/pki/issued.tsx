import { Link } from '@tanstack/react-router';
import { Download } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../../design/button';
import { ErrorNotice } from '../../../design/error-notice';
import { TextField } from '../../../design/field';
import { FormDialog } from '../../../design/form';
import { Notice } from '../../../design/notice';
import { Lines } from '../../../design/page';
import { saveFile } from '../../../design/save-file';
import { SecretValue } from '../../../design/secret-value';
import { TabList } from '../../../design/tab-list';
import { mountPage } from '../../pages';
import { pemBlocks, readCertificate } from './certificate';
import { CertificateFacts } from './certificate-facts';

/** A certificate that was just issued. */
export interface Issued {
  readonly certificate: string;
  readonly issuing_ca: string;
  readonly ca_chain?: readonly string[];
  readonly serial_number: string;
  /** The private key in PKCS#8; absent if a CSR was signed. */
  readonly private_key?: string;
}

const pem = 'application/x-pem-file';
const lines = (...texts: readonly string[]) => texts.map((text) => `${text.trim()}\n`).join('');

/** The certificate, its chain and its key, to copy and to download. */
export function IssuedCertificate({
  mount,
  of: issued,
  onAgain,
}: {
  readonly mount: string;
  readonly of: Issued;
  readonly onAgain: () => void;
}) {
  const { certificate, ca_chain = [issued.issuing_ca], private_key: key } = issued;
  const tabs = [
    { tab: 'certificate', label: 'Certificate' },
    { tab: 'chain', label: 'Chain' },
    ...(key === undefined ? [] : [{ tab: 'key', label: 'Private key' }]),
  ];
  const [chosen, setChosen] = useState('certificate');
  const [packing, setPacking] = useState(false);
  const read = readCertificate(certificate);
  const name = read?.name ?? issued.serial_number;
  const download = (label: string, file: string, text: string) => (
    <Button small icon={Download} onClick={() => saveFile(file, text, pem)}>
      {label}
    </Button>
  );
  const chain = lines(...ca_chain);
  return (
    <section className="stack" aria-label="Issued certificate">
      {key === undefined ? (
        <Notice tone="green">The certificate was issued.</Notice>
      ) : (
        <Notice tone="amber" alert>
          The certificate was issued. Take its private key now: it is not stored, and not shown again.
        </Notice>
      )}
      {read === undefined ? null : <CertificateFacts of={read} />}
      <div className="row">
        {download('Certificate', `${name}.pem`, lines(certificate))}
        {download('Certificate and chain', `${name}-fullchain.pem`, lines(certificate, ...ca_chain))}
        {key === undefined ? null : (
          <>
            {download('Private key', `${name}-key.pem`, lines(key))}
            <Button
              small
              icon={Download}
              forbidden={
                globalThis.isSecureContext
                  ? undefined
                  : 'Browsers can create this file only on pages that were loaded over HTTPS.'
              }
              onClick={() => setPacking(true)}
            >
              PKCS#12
            </Button>
          </>
        )}
      </div>
      <TabList label="Parts of the answer" tabs={tabs} chosen={chosen} onChange={setChosen} />
      <div role="tabpanel" aria-label={tabs.find(({ tab }) => tab === chosen)?.label}>
        {chosen === 'certificate' ? <Lines text={lines(certificate)} what="certificate" /> : null}
        {chosen === 'chain' ? <Lines text={chain} what="chain" /> : null}
        {chosen === 'key' && key !== undefined ? <SecretValue name="private key" value={lines(key)} /> : null}
      </div>
      <div className="row">
        <Button onClick={onAgain}>Issue another</Button>
        <Link className="button" {...mountPage({ mount, tab: 'certificates', name: issued.serial_number })}>
          Open certificate
        </Link>
      </div>
      {packing && key !== undefined ? (
        <PackDialog
          name={name}
          private_key={key}
          chain={[certificate, ...ca_chain]}
          onClose={() => setPacking(false)}
        />
      ) : null}
    </section>
  );
}

function PackDialog({
  name,
  private_key,
  chain,
  onClose,
}: {
  readonly name: string;
  readonly private_key: string;
  readonly chain: readonly string[];
  readonly onClose: () => void;
}) {
  const [password, setPassword] = useState('');
  const [isPending, setPending] = useState(false);
  const [failure, setFailure] = useState<unknown>();
  const pack = async () => {
    setPending(true);
    try {
      const { pkcs12Of } = await import('./pkcs12');
      const [key] = pemBlocks(private_key);
      if (key === undefined) throw new Error('The private key is not in PEM.');
      const certificates = chain.flatMap((text) => pemBlocks(text).map(({ der }) => der));
      const file = await pkcs12Of({ key: key.der, certificates, name }, password);
      saveFile(`${name}.p12`, file, 'application/x-pkcs12');
      onClose();
    } catch (error) {
      setFailure(error);
    } finally {
      setPending(false);
    }
  };
  return (
    <FormDialog
      title="Download as PKCS#12"
      action="Download"
      change={{ isPending, error: null }}
      onSend={() => void pack()}
      onBack={onClose}
    >
      <p className="second">
        One file with the key, the certificate and its chain, as Windows, macOS and Java take it. It is made in this
        browser.
      </p>
      <TextField
        label="Password of the file"
        masked
        required
        autoFocus
        value={password}
        onChange={setPassword}
        hint="The file is encrypted with it."
      />
      <ErrorNotice error={failure} />
    </FormDialog>
  );
}
