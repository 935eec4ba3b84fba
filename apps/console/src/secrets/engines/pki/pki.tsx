import type { OwnPageProps } from '../own-page';
import { Acme } from './acme';
import { CaKeys } from './ca-keys';
import { CertificatePage } from './certificate-page';
import { Certificates } from './certificates';
import { IssuerPage } from './issuer-page';
import { Issuers } from './issuers';
import { NewCa } from './new-ca';
import { Overview } from './overview';
import { NewRole } from './role-form';
import { RolePage } from './role-page';
import { Roles } from './roles';

/** The pages of a pki mount. */
export default function Pki({ mount: { path }, tab, name, create }: OwnPageProps) {
  if (tab === 'issuers') {
    if (create) return <NewCa mount={path} />;
    return name === undefined ? <Issuers mount={path} /> : <IssuerPage key={name} mount={path} id={name} />;
  }
  if (tab === 'roles') {
    if (create) return <NewRole mount={path} />;
    return name === undefined ? <Roles mount={path} /> : <RolePage key={name} mount={path} name={name} />;
  }
  if (tab === 'certificates') {
    return name === undefined ? <Certificates mount={path} /> : <CertificatePage mount={path} serial={name} />;
  }
  if (tab === 'keys') return <CaKeys mount={path} />;
  return tab === 'acme' ? <Acme mount={path} /> : <Overview mount={path} />;
}
