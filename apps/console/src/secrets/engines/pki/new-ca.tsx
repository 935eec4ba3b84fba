import { Building2, FileInput, FileOutput, FileUp } from 'lucide-react';
import type { ComponentType } from 'react';
import { NewByWay, type Way } from '../new-by-way';
import { sameBy } from '../record-page';
import { ImportCa } from './import-ca';
import { ExternalIntermediate, InternalIntermediate } from './intermediate-ca';
import { RootCa } from './root-ca';

const ways: readonly (Way & { readonly Form: ComponentType<{ readonly mount: string }>; readonly api: string })[] = [
  {
    part: 'root',
    title: 'Create a root CA',
    text: 'The start of a chain of trust. Clients trust its certificate once; best kept in a separate mount that only signs intermediates.',
    icon: Building2,
    Form: RootCa,
    api: 'root/generate/internal',
  },
  {
    part: 'intermediate',
    title: 'Create an intermediate, signed here',
    text: 'A CA that another mount of this service signs. It issues the certificates of your services.',
    icon: FileInput,
    Form: InternalIntermediate,
    api: 'intermediate/generate/internal',
  },
  {
    part: 'external',
    title: 'Create an intermediate, signed elsewhere',
    text: 'Creates a key and a request (CSR) that you have signed by your company’s CA.',
    icon: FileOutput,
    Form: ExternalIntermediate,
    api: 'intermediate/generate/internal',
  },
  {
    part: 'import',
    title: 'Import a CA',
    text: 'CA certificates that you have as PEM, with their keys or without; also the signed certificate of a CSR from here.',
    icon: FileUp,
    Form: ImportCa,
    api: 'issuers/import/bundle',
  },
];

/** Creates or imports a CA. */
export function NewCa({ mount }: { readonly mount: string }) {
  return (
    <NewByWay
      mount={mount}
      tab="issuers"
      title="Create a CA"
      label="Ways to a CA"
      ways={ways}
      same={(way = ways[0]) => sameBy('write', `${mount}${way!.api}`, 'common_name=…')}
    >
      {({ Form }) => <Form mount={mount} />}
    </NewByWay>
  );
}
