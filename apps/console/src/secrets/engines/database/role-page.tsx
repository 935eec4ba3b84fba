import { Link } from '@tanstack/react-router';
import { Button } from '../../../design/button';
import { ErrorNotice } from '../../../design/error-notice';
import { Notice } from '../../../design/notice';
import { Lines } from '../../../design/page';
import { LeasesOf } from '../../leases/leases-of';
import { useMay } from '../../may';
import { mountPage } from '../../pages';
import { encodedPath, useChange, useRead } from '../../reads';
import { Credentials } from '../credentials';
import { RecordPage, sameBy } from '../record-page';
import { spanOf } from '../ttl-field';
import { allows, type Connection } from './connection';
import type { DatabaseRole } from './role';
import { RoleForm } from './role-form';

interface DryRunAnswer {
  readonly data: { readonly username: string; readonly rehearsed: boolean };
}

const fields = [
  { name: 'username', label: 'Username' },
  { name: 'password', label: 'Password', isSecret: true },
] as const;

/** A role: get credentials, see who has credentials, and change the role. */
export function RolePage({ mount, name }: { readonly mount: string; readonly name: string }) {
  return (
    <RecordPage<DatabaseRole>
      mount={mount}
      tab="roles"
      name={name}
      one="role"
      parts={[
        {
          part: 'credentials',
          label: 'Credentials',
          same: sameBy('read', `${mount}creds/${name}`),
          readless: true,
        },
        { part: 'settings', label: 'Settings', same: sameBy('write', `${mount}roles/${name}`, 'default_ttl=1h') },
      ]}
      about={({ db_name, default_ttl, max_ttl }) => (
        <>
          Creates users in <Link {...mountPage({ mount, tab: 'connections', name: db_name })}>{db_name}</Link>
          {default_ttl === 0 ? '' : `; default TTL ${spanOf(default_ttl)}`}
          {max_ttl === 0 ? '' : `; maximum TTL ${spanOf(max_ttl)}`}.
        </>
      )}
      deletion="It creates no more users. Those that it created live on until their leases end."
    >
      {(part, role) =>
        part === 'settings' && role !== undefined ? (
          <RoleForm mount={mount} name={name} stored={{ ...role }} />
        ) : (
          <RoleCredentials mount={mount} name={name} role={role} />
        )
      }
    </RecordPage>
  );
}

function RoleCredentials({
  mount,
  name,
  role,
}: {
  readonly mount: string;
  readonly name: string;
  readonly role: DatabaseRole | undefined;
}) {
  const dryPath = `${mount}roles/${name}/dry-run`;
  const may = useMay([dryPath]);
  const check = useChange<DryRunAnswer>();
  return (
    <div className="stack">
      {role === undefined ? null : <Admission mount={mount} connection={role.db_name} name={name} />}
      <Credentials
        path={`${mount}creds/${name}`}
        method="GET"
        fields={fields}
        extra={
          <Button
            busy={check.isPending}
            {...may({ path: dryPath, capabilities: ['update'] })}
            onClick={() => check.mutate({ method: 'POST', path: encodedPath(dryPath) })}
          >
            Dry run
          </Button>
        }
      >
        {role === undefined ? null : <Statements role={role} />}
        <ErrorNotice error={check.error} />
        {check.data === undefined ? null : <DryRunResult of={check.data.data} role={role} />}
      </Credentials>
      <LeasesOf
        title="Credentials in use"
        of={{ prefix: `${mount}creds/${name}` }}
        none="No one has credentials of this role now."
      />
    </div>
  );
}

/** The statements that create a user, with example values. */
function Statements({ role, username }: { readonly role: DatabaseRole; readonly username?: string }) {
  const filled = (text: string) =>
    username === undefined ? text : text.replace(/\{\{\s*(?:name|username)\s*\}\}/g, username);
  return role.creation_statements.length === 0 ? null : (
    <Lines text={role.creation_statements.map((text) => `${filled(text).trim()}\n`).join('')} what="statements" />
  );
}

function DryRunResult({ of, role }: { readonly of: DryRunAnswer['data']; readonly role: DatabaseRole | undefined }) {
  return (
    <div className="stack-tight" role="status">
      {of.rehearsed ? (
        <Notice tone="green">
          It works: the statements ran for the user {of.username} and were rolled back. No user was created.
        </Notice>
      ) : (
        <Notice tone="amber">
          This kind of database cannot roll back the creation of users, so nothing ran. The user would be called{' '}
          {of.username}.
        </Notice>
      )}
      {role === undefined ? null : <Statements role={role} username={of.username} />}
    </div>
  );
}

/** Shown if the connection does not allow the role; offers to allow it. */
function Admission({
  mount,
  connection,
  name,
}: {
  readonly mount: string;
  readonly connection: string;
  readonly name: string;
}) {
  const path = `${mount}config/${connection}`;
  const at = `${encodedPath(mount)}config/${encodeURIComponent(connection)}`;
  const found = useRead<Connection>(at, { enabled: connection !== '' });
  const may = useMay([path]);
  const change = useChange();
  if (found.data === undefined || allows(found.data, name)) return null;
  const allowed_roles = [...found.data.allowed_roles, name];
  return (
    <Notice tone="amber">
      <span>The connection {connection} does not allow this role, so no one can get credentials of it.</span>
      <ErrorNotice error={change.error} />
      <span>
        <Button
          small
          busy={change.isPending}
          {...may({ path, capabilities: ['update'] })}
          onClick={() => change.mutate({ method: 'POST', path: at, body: { allowed_roles } })}
        >
          Allow it
        </Button>
      </span>
    </Notice>
  );
}
