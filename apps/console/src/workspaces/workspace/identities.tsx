import { Notice } from '../../design/notice';
import { Empty } from '../../design/page';
import { useRead } from '../api';
import { ResourceTable } from '../parts/resource-table';

const kinds: ReadonlyMap<string, string> = new Map([
  ['token', 'Token'],
  ['aws', 'AWS'],
  ['gcp', 'Google Cloud'],
  ['azure', 'Azure'],
  ['vault', 'Vault'],
  ['kubernetes', 'Kubernetes'],
  ['secrets', 'Secrets service'],
]);

/** The identity tokens of a workspace's runs: the claims that trust policies can check. */
export function Identities({ id }: { readonly id: string }) {
  const identities = useRead(['workload-identities', id], (api) =>
    api.GET('/api/v2/workspaces/{workspace_id}/workload-identities', { params: { path: { workspace_id: id } } }),
  );
  const problems = (identities.data?.meta as { problems?: string[] } | undefined)?.problems ?? [];
  return (
    <section className="stack-tight">
      <h2>Identities</h2>
      <p className="second">The claims in the identity tokens of this workspace’s runs. Use them in trust policies.</p>
      {problems.map((problem) => (
        <Notice key={problem} tone="amber">
          {problem}
        </Notice>
      ))}
      <ResourceTable
        label="Identities"
        query={identities}
        empty={
          <Empty>
            Runs get no identity token. Variables such as TFC_AWS_PROVIDER_AUTH or TFC_WORKLOAD_IDENTITY_AUDIENCE turn
            it on.
          </Empty>
        }
        columns={[
          { head: 'Phase', className: 'tight', cell: ({ attributes: { phase } }) => phase },
          {
            head: 'For',
            cell: ({ attributes: { kind, tag, settings } }) => (
              <div className="stack-none">
                <span>{[kinds.get(kind) ?? kind, tag].filter(Boolean).join(', ')}</span>
                {settings.map(({ name, value }) => (
                  <span key={name} className="second small">
                    {name}: {value ?? 'sensitive'}
                  </span>
                ))}
              </div>
            ),
          },
          { head: 'Audience', cell: ({ attributes: { audience } }) => <code>{audience ?? 'sensitive'}</code> },
          { head: 'Subject', cell: ({ attributes: { subject } }) => <code>{subject}</code> },
        ]}
      />
    </section>
  );
}
