import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { Resource } from '../../api/workspaces';
import { Copied } from '../../design/copy';
import { CheckField, TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { Empty, PageHead } from '../../design/page';
import { organizationCrumbs, rule, useChange, useOrganization, useOrganizationName, useRead } from '../api';
import { useFilters } from '../filters';
import { DangerZone } from '../parts/danger-zone';
import { fieldsOf, useDraft } from '../parts/draft';
import { Loaded } from '../parts/loaded';
import { Creator } from '../parts/opener';
import { RemoveButton } from '../parts/remove-button';
import { ResourceTable } from '../parts/resource-table';
import { SameByApi } from '../parts/same-by-api';
import { scopes } from './scopes';

/** One address list: who is limited by it, and its ranges. */
export function AddressList() {
  const organization = useOrganizationName();
  const { list: id = '' } = useParams({ strict: false }) as { list?: string };
  const found = useOrganization();
  const list = useRead(['address-list', id], (api) =>
    api.GET('/api/v2/cidr-range-lists/{cidr_range_list_id}', { params: { path: { cidr_range_list_id: id } } }),
  );
  const name = list.data?.data?.attributes.name;
  const forbidden = rule(found.data?.data?.attributes.permissions['can-update'], 'can-update');
  const all = `/organizations/${encodeURIComponent(organization)}/addresses`;
  return (
    <div className="stack">
      <PageHead
        title={name ?? 'IP allowlist'}
        crumbs={organizationCrumbs(organization, { label: 'IP allowlists', to: all }, { label: name ?? '…' })}
        actions={
          <Creator label="Add range" forbidden={forbidden}>
            {(close) => <NewRange list={id} onClose={close} />}
          </Creator>
        }
      />
      <Loaded query={list} rows={4}>
        {({ data }) =>
          data === null ? null : (
            <>
              <dl className="facts">
                <dt>ID</dt>
                <dd>
                  <Copied text={data.id} what="list id" />
                </dd>
                <dt>Limits</dt>
                <dd>{scopes[data.attributes['enforcement-scope']]}</dd>
                <dt>Description</dt>
                <dd>{data.attributes.description === '' ? '–' : data.attributes.description}</dd>
              </dl>
              <Ranges list={data.id} forbidden={forbidden} />
              <DangerZone
                what="address list"
                name={data.attributes.name}
                call={(api) =>
                  api.DELETE('/api/v2/cidr-range-lists/{cidr_range_list_id}', {
                    params: { path: { cidr_range_list_id: data.id } },
                  })
                }
                to={all}
                forbidden={forbidden}
              >
                Its ranges no longer limit anyone.
              </DangerZone>
            </>
          )
        }
      </Loaded>
      <SameByApi path={`cidr-range-lists/${id}/relationships/cidr-ranges`} />
    </div>
  );
}

const rangesPath = '/api/v2/cidr-range-lists/{cidr_range_list_id}/relationships/cidr-ranges';
const rangePath = '/api/v2/cidr-ranges/{cidr_range_id}';

function Ranges({ list, forbidden }: { readonly list: string; readonly forbidden: string | undefined }) {
  const [filters] = useFilters<'page'>();
  const query = { 'page[number]': Number(filters.page ?? 1) };
  const ranges = useRead(['address-list', list, 'ranges', query], (api) =>
    api.GET(rangesPath, { params: { path: { cidr_range_list_id: list }, query } }),
  );
  return (
    <ResourceTable
      label="Ranges"
      query={ranges}
      paged
      outline={2}
      empty={<Empty>The list limits no one until it has a range that is enabled.</Empty>}
      columns={[
        { head: 'Range', className: 'tight', cell: ({ attributes }) => <code>{attributes.range}</code> },
        { head: 'Description', cell: ({ attributes }) => attributes.description },
        { head: 'Enabled', className: 'tight', cell: (range) => <Enabled range={range} forbidden={forbidden} /> },
        {
          head: '',
          className: 'tight',
          cell: ({ id, attributes: { range } }) => (
            <RemoveButton
              text="Delete"
              label={`Delete ${range}`}
              title={`Delete ${range}?`}
              forbidden={forbidden}
              call={(api) => api.DELETE(rangePath, { params: { path: { cidr_range_id: id } } })}
            >
              <p>If other ranges are enabled, requests from these addresses will be refused.</p>
            </RemoveButton>
          ),
        },
      ]}
    />
  );
}

function Enabled({
  range: { id, attributes },
  forbidden,
}: {
  readonly range: Resource<'CidrRangesResource'>;
  readonly forbidden: string | undefined;
}) {
  // Set immediately on click, because React renders the stored value only later, and the checkbox would flicker.
  const [isEnabled, setIsEnabled] = useState<boolean>();
  const change = useChange((api, enabled: boolean) =>
    api.PATCH(rangePath, {
      params: { path: { cidr_range_id: id } },
      body: { data: { type: 'cidr-ranges', attributes: { enabled } } },
    }),
  );
  return (
    <CheckField
      label={`${attributes.range} is enabled`}
      checked={change.error === null ? (isEnabled ?? attributes.enabled) : attributes.enabled}
      onChange={(enabled) => {
        if (forbidden !== undefined) return;
        setIsEnabled(enabled);
        change.mutate(enabled);
      }}
      {...(change.error === null ? {} : { error: change.error.message })}
    />
  );
}

function NewRange({ list, onClose }: { readonly list: string; readonly onClose: () => void }) {
  const draft = useDraft({ range: '', description: '', enabled: true });
  const add = useChange(
    (api) =>
      api.POST(rangesPath, {
        params: { path: { cidr_range_list_id: list } },
        body: { data: { type: 'cidr-ranges', attributes: draft.value } },
      }),
    onClose,
  );
  const { field, check } = fieldsOf(draft, add.error);
  return (
    <FormDialog title="Add range" action="Add range" change={add} onSend={() => add.mutate()} onBack={onClose}>
      <TextField label="Range" required autoFocus placeholder="192.0.2.0/24" {...field('range')} />
      <TextField label="Description" {...field('description')} />
      <CheckField
        label="Enabled"
        {...check('enabled')}
        hint="A range that would leave out your own address is refused."
      />
    </FormDialog>
  );
}
