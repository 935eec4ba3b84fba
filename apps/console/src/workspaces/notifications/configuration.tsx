import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { Copied } from '../../design/copy';
import { ErrorNotice } from '../../design/error-notice';
import { SettingsForm } from '../../design/form';
import { Empty } from '../../design/page';
import { Table } from '../../design/table';
import { Time } from '../../design/time';
import { useChange, useRead } from '../api';
import { DangerZone } from '../parts/danger-zone';
import { useDraft } from '../parts/draft';
import { Loaded } from '../parts/loaded';
import { ConfigurationFields, sentConfiguration, typedConfiguration } from './configuration-fields';
import { type Configuration, destinations } from './triggers';

/** The query for one configuration. */
export const useConfiguration = (id: string) =>
  useRead(
    ['notification', id],
    (api) =>
      api.GET('/api/v2/notification-configurations/{notification_configuration_id}', {
        params: { path: { notification_configuration_id: id } },
      }),
    { everyMs: 30_000 },
  );

/**
 * One configuration: its recipients and triggers, the last deliveries, and a test; `to` is the address of the list that
 * it is in.
 */
export function NotificationConfiguration({ id, to }: { readonly id: string; readonly to: string }) {
  const configuration = useConfiguration(id);
  return (
    <Loaded query={configuration} rows={8}>
      {({ data }) =>
        data === null ? null : (
          <>
            <dl className="facts">
              <dt>ID</dt>
              <dd>
                <Copied text={data.id} what="notification id" />
              </dd>
              <dt>Destination</dt>
              <dd>
                {destinations[data.attributes['destination-type']]}
                {data.relationships.users.data.length === 0
                  ? null
                  : `, and ${data.relationships.users.data.length} members of the organization`}
              </dd>
              <dt>Changed</dt>
              <dd>
                <Time at={data.attributes['updated-at']} />
              </dd>
            </dl>
            <Deliveries configuration={data} onTried={() => void configuration.refetch()} />
            <Edit key={data.id} configuration={data} />
            <DangerZone
              what="notification"
              name={data.attributes.name}
              call={(api) =>
                api.DELETE('/api/v2/notification-configurations/{notification_configuration_id}', {
                  params: { path: { notification_configuration_id: data.id } },
                })
              }
              to={to}
              forbidden={undefined}
            >
              No more notifications are sent, including queued ones.
            </DangerZone>
          </>
        )
      }
    </Loaded>
  );
}

function Deliveries({
  configuration,
  onTried,
}: {
  readonly configuration: Configuration;
  readonly onTried: () => void;
}) {
  const tries = configuration.attributes['delivery-responses'];
  const test = useChange((api) =>
    api.POST('/api/v2/notification-configurations/{notification_configuration_id}/actions/verify', {
      params: { path: { notification_configuration_id: configuration.id } },
    }),
  );
  return (
    <section className="stack-tight" aria-labelledby="deliveries">
      <h2 id="deliveries">Recent deliveries</h2>
      {tries.length === 0 ? (
        <Empty>Nothing has been sent yet. A test shows whether a message arrives.</Empty>
      ) : (
        <Table
          label="Recent deliveries"
          narrow="stacked"
          // Two attempts may have the same time and the same answer.
          rows={tries.map((attempt, at) => ({ ...attempt, key: `${attempt['sent-at']} ${at}` }))}
          keyOf={({ key }) => key}
          columns={[
            { head: 'When', className: 'tight', cell: (attempt) => <Time at={attempt['sent-at']} /> },
            {
              head: 'Result',
              className: 'tight',
              cell: ({ successful, code }) => (
                <span className="row">
                  {successful === 'true' ? <Badge tone="green">arrived</Badge> : <Badge tone="red">failed</Badge>}
                  <span>{code}</span>
                </span>
              ),
            },
            {
              head: 'Answer',
              cell: ({ body }) => (body === '' ? <span className="second">without text</span> : <pre>{body}</pre>),
            },
          ]}
        />
      )}
      <span className="row">
        <Button busy={test.isPending} onClick={() => test.mutate(undefined, { onSettled: onTried })}>
          Send test
        </Button>
        <span role="status" className="second">
          {test.isSuccess ? 'It arrived.' : ''}
        </span>
      </span>
      <ErrorNotice error={test.error} />
    </section>
  );
}

function Edit({ configuration }: { readonly configuration: Configuration }) {
  const draft = useDraft(typedConfiguration(configuration));
  const save = useChange(
    (api) =>
      api.PATCH('/api/v2/notification-configurations/{notification_configuration_id}', {
        params: { path: { notification_configuration_id: configuration.id } },
        // Users that are not named are removed.
        body: {
          data: {
            type: 'notification-configurations',
            attributes: sentConfiguration(draft.changes),
            relationships: { users: { data: configuration.relationships.users.data } },
          },
        },
      }),
    draft.reset,
  );
  return (
    <SettingsForm title="Settings" draft={draft} change={save} onSend={() => save.mutate()}>
      <ConfigurationFields draft={draft} error={save.error} stored />
    </SettingsForm>
  );
}
