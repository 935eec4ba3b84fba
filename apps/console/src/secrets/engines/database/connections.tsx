import { Link } from '@tanstack/react-router';
import { Database, Plus } from 'lucide-react';
import { Empty } from '../../../design/page';
import { Time } from '../../../design/time';
import { mountPage } from '../../pages';
import { RecordTable } from '../record-table';
import { type Connection, hostOf, labelOfPlugin } from './connection';
import { rootRotationOf } from './root-rotation';
import { VerifyButton } from './verify';

/** The databases that a mount is connected to. */
export function Connections({ mount }: { readonly mount: string }) {
  const add = (
    <Link className="button primary" {...mountPage({ mount, tab: 'connections', create: true })}>
      <Plus size={16} aria-hidden="true" />
      Create connection
    </Link>
  );
  return (
    <RecordTable<Connection>
      mount={mount}
      tab="connections"
      list="config"
      add={add}
      empty={
        <Empty
          icon={Database}
          action={add}
          command={`keystead write ${mount}config/app plugin_name=postgresql-database-plugin …`}
        >
          Connect a database first. Roles then create users in it on demand, and drop them when their leases end.
        </Empty>
      }
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
