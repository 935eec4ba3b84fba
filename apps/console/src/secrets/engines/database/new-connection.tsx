import { Database } from 'lucide-react';
import { NewByWay } from '../new-by-way';
import { RecordForm } from '../record-form';
import { sameBy } from '../record-page';
import { connectionGroups, newConnection, plugins } from './connection';

const ways = [...plugins].map(([part, { label, text }]) => ({ part, title: label, text, icon: Database }));

/** Connects a database: first its kind, then how to reach it. */
export function NewConnection({ mount }: { readonly mount: string }) {
  return (
    <NewByWay
      mount={mount}
      tab="connections"
      title="Create connection"
      label="Kind of database"
      ways={ways}
      same={(way) => sameBy('write', `${mount}config/app`, `plugin_name=${way?.part ?? '…'} connection_url=…`)}
    >
      {({ part: plugin }) => (
        <RecordForm
          mount={mount}
          tab="connections"
          list="config"
          name={undefined}
          stored={newConnection(plugin)}
          groups={() => connectionGroups(plugin, true)}
          one="connection"
          nameHint="app"
          trial={{
            action: 'Verify connection',
            sent: { dry_run: true },
            worked: 'The database accepts this user. Nothing was stored.',
          }}
        />
      )}
    </NewByWay>
  );
}
