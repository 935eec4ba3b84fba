import { type Attributes, CertificationRequest, CertificationRequestInfo } from '@peculiar/asn1-csr';
import { AsnConvert } from '@peculiar/asn1-schema';
import { type Name, SubjectPublicKeyInfo } from '@peculiar/asn1-x509';
import { arrayBuffer, encoded, publicDer } from './asn1';
import { identifierOf, type Signer, signWith } from './signature-algorithm';

/** A certificate request for this key (PKCS #10), as DER. */
export async function makeRequest(
  { subject, attributes }: { readonly subject: Name; readonly attributes: Attributes },
  { key, algorithm }: Signer,
): Promise<Buffer> {
  const certificationRequestInfo = new CertificationRequestInfo({
    subject,
    subjectPKInfo: AsnConvert.parse(publicDer(key), SubjectPublicKeyInfo),
    attributes,
  });
  const signature = await signWith(algorithm, key, encoded(certificationRequestInfo));
  return encoded(
    new CertificationRequest({
      certificationRequestInfo,
      signatureAlgorithm: identifierOf(algorithm),
      signature: arrayBuffer(signature),
    }),
  );
}
