import { Database } from 'lucide-react';
import { Time } from '../../../design/time';
import { CreateLink } from '../create-link';
import { RecordTable } from '../record-table';
import { type Connection, hostOf, labelOfPlugin } from './connection';
import { rootRotationOf } from './root-rotation';
import { VerifyButton } from './verify';

/** The databases that a mount is connected to. */
export function Connections({ mount }: { readonly mount: string }) {
  return (
    <RecordTable<Connection>
      mount={mount}
      tab="connections"
      list="config"
      add={
        <CreateLink mount={mount} tab="connections">
          Create connection
        </CreateLink>
      }
      empty={{
        icon: Database,
        command: `keystead write ${mount}config/app plugin_name=postgresql-database-plugin …`,
        text: 'Connect a database first. Roles then create users in it on demand, and drop them when their leases end.',
      }}
      columns={[
        {
          head: 'Plugin',
          cell: ({ plugin_name }) => labelOfPlugin(plugin_name),
          sortBy: (one) => one?.plugin_name ?? '',
        },
        { head: 'Host', cell: ({ connection_details: details }) => <code>{hostOf(details)}</code> },
        {
          head: 'Allowed roles',
          cell: ({ allowed_roles: roles }) =>
            roles.length === 0 ? <span className="second">none</span> : roles.includes('*') ? 'all' : roles.join(', '),
        },
        {
          head: 'Root rotation',
          cell: (connection) => (
            <span>
              {rootRotationOf(connection)}
              {connection.last_rotation ? (
                <span className="second small">
                  {' '}
                  · last <Time at={connection.last_rotation} />
                </span>
              ) : null}
            </span>
          ),
        },
        { head: '', cell: (_connection, name) => <VerifyButton mount={mount} name={name} small /> },
      ]}
    />
  );
}
