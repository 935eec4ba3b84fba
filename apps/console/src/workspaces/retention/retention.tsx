import { ApiError } from '../../api/api-error';
import { ErrorNotice } from '../../design/error-notice';
import { Skeleton } from '../../design/page';
import { rule, useChange, useOrganization, useOrganizationName, useRead } from '../api';
import { Loaded } from '../parts/loaded';
import { OrganizationPage } from '../parts/organization-page';
import { PolicyForm, policyBody, type Wish } from './policy-form';
import { Preview } from './preview';

/** The data retention policy of an organization, and what it would delete now. */
export function Retention() {
  const name = useOrganizationName();
  const organization = useOrganization();
  const params = { path: { organization_name: name } };
  const policy = useRead(['retention', name], (api) =>
    api.GET('/api/v2/organizations/{organization_name}/relationships/data-retention-policy', { params }),
  );
  const may = organization.data?.data?.attributes.permissions['can-update'];
  const preview = useRead(
    ['retention-preview', name],
    (api) =>
      api.GET('/api/v2/organizations/{organization_name}/relationships/data-retention-policy/preview', { params }),
    { enabled: may === true },
  );
  const save = useChange<unknown, Wish>((api, choice) => {
    const path = '/api/v2/organizations/{organization_name}/relationships/data-retention-policy' as const;
    return choice === undefined ? api.DELETE(path, { params }) : api.POST(path, { params, body: policyBody(choice) });
  });
  const own = organization.data?.data?.relationships['data-retention-policy']?.data?.id;
  const inForce = policy.data?.data ?? null;
  const isNone = policy.error instanceof ApiError && policy.error.status === 404;
  const isOwn = inForce !== null && inForce.id === own;
  return (
    <OrganizationPage
      title="Retention"
      path="relationships/data-retention-policy/preview"
      about={
        <p>
          {isNone || (policy.data !== undefined && inForce === null)
            ? 'No policy: states and configurations are kept until they are deleted by hand.'
            : inForce === null
              ? ''
              : `${inForce.attributes['delete-older-than-n-days'] === undefined ? 'Nothing is deleted' : `States and configurations older than ${inForce.attributes['delete-older-than-n-days']} days are deleted`}${isOwn ? '.' : ', by the policy of the installation.'}`}
        </p>
      }
    >
      {isNone ? null : <ErrorNotice error={policy.error} />}
      {(policy.isPending && !isNone) || organization.isPending ? (
        <Skeleton rows={3} />
      ) : (
        <PolicyForm
          key={`${own} ${inForce?.id}`}
          policy={isOwn ? inForce : null}
          above="the installation"
          onSave={save.mutate}
          busy={save.isPending}
          error={save.error}
          forbidden={rule(may, 'can-update')}
        />
      )}
      {may === true ? (
        <Loaded query={preview} rows={2}>
          {({ data }) => (data === null ? null : <Preview found={data} />)}
        </Loaded>
      ) : null}
    </OrganizationPage>
  );
}
