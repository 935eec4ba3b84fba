import { Link } from '@tanstack/react-router';
import { Building2, FileInput, FileOutput, FileUp, type LucideIcon } from 'lucide-react';
import type { ComponentType } from 'react';
import { PageHead, SameBy } from '../../../design/page';
import { mountPage, useAddress } from '../../pages';
import { crumbsTo } from '../own-page';
import { ImportCa } from './import-ca';
import { ExternalIntermediate, InternalIntermediate } from './intermediate-ca';
import { RootCa } from './root-ca';

interface Way {
  readonly title: string;
  readonly text: string;
  readonly icon: LucideIcon;
  readonly Form: ComponentType<{ readonly mount: string }>;
  readonly api: string;
}

const ways: ReadonlyMap<string, Way> = new Map(
  Object.entries({
    root: {
      title: 'Create a root CA',
      text: 'The start of a chain of trust. Clients trust its certificate once; best kept in a separate mount that only signs intermediates.',
      icon: Building2,
      Form: RootCa,
      api: 'root/generate/internal',
    },
    intermediate: {
      title: 'Create an intermediate, signed here',
      text: 'A CA that another mount of this service signs. It issues the certificates of your services.',
      icon: FileInput,
      Form: InternalIntermediate,
      api: 'intermediate/generate/internal',
    },
    external: {
      title: 'Create an intermediate, signed elsewhere',
      text: 'Makes a key and a request (CSR) that you have signed by your company’s CA.',
      icon: FileOutput,
      Form: ExternalIntermediate,
      api: 'intermediate/generate/internal',
    },
    import: {
      title: 'Import a CA',
      text: 'CA certificates that you have as PEM, with their keys or without; also the signed certificate of a CSR from here.',
      icon: FileUp,
      Form: ImportCa,
      api: 'issuers/import/bundle',
    },
  }),
);

/** Creates or imports a CA: first the way, then its form. */
export function NewCa({ mount }: { readonly mount: string }) {
  const { part } = useAddress('/engines/mount');
  const way = ways.get(part ?? '');
  return (
    <div className="stack">
      <PageHead
        title={way?.title ?? 'Create a CA'}
        crumbs={[
          ...crumbsTo(mount, 'issuers'),
          ...(way === undefined
            ? []
            : [{ label: 'Create a CA', to: '/engines/mount', search: { mount, tab: 'issuers', create: true } }]),
        ]}
      >
        {way === undefined ? null : <p className="second narrow">{way.text}</p>}
      </PageHead>
      {way === undefined ? (
        <ul className="choices" aria-label="Ways to a CA">
          {[...ways].map(([name, { title, text, icon: Shape }]) => (
            <li key={name}>
              <Shape size={20} aria-hidden="true" />
              <Link className="strong" {...mountPage({ mount, tab: 'issuers', create: true, part: name })}>
                {title}
              </Link>
              <span className="second small">{text}</span>
            </li>
          ))}
        </ul>
      ) : (
        <way.Form mount={mount} />
      )}
      <SameBy
        api={`POST /v1/${mount}${way?.api ?? 'root/generate/internal'}`}
        command={`keystead write ${mount}${way?.api ?? 'root/generate/internal'} common_name=…`}
      />
    </div>
  );
}
