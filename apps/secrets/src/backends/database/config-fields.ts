import type { z } from 'zod';
import {
  bool,
  commaList,
  document,
  duration,
  int,
  oneOf,
  secretString,
  sentTo,
  string,
  stringList,
} from '../../sdk/fields';
import { recordFields } from '../../sdk/record-fields';

/** Fields that decide where the credentials of a connection are sent. */
const places = [
  'connection_url',
  'host',
  'port',
  'tls',
  'tls_ca',
  'ca_cert',
  'tls_server_name',
  'tls_skip_verify',
  'insecure_tls',
] as const;

/** Settings for the driver. */
export const connectionFields = recordFields({
  connection_url: [string().describe('Address; {{username}} and {{password}} in it are filled in.'), ''],
  host: [string().describe('Host, of Redis and Valkey.'), ''],
  port: [int().describe('Port, of Redis and Valkey.'), 0],
  username: [string().describe('The user that creates and drops users.'), ''],
  password: [sentTo(secretString(), ...places).describe('Its password; never shown again.'), ''],
  disable_escaping: [bool().describe('Do not escape user and password in the address.'), false],
  max_open_connections: [int().describe('Maximum number of open connections, per node.'), 4],
  max_idle_connections: [int().describe('Maximum number of idle connections; 0: as many as may be open.'), 0],
  max_connection_lifetime: [duration().describe('Maximum age of a connection; 0: no limit.'), 0],
  username_template: [document(string()).describe('Template of user names; empty takes the built-in one.'), ''],
  password_authentication: [
    oneOf(['password', 'scram-sha-256'], (value) => `'${value}' is not a valid password authentication type`).describe(
      'scram-sha-256: send PostgreSQL a hash of each password, so that its log contains none.',
    ),
    'password',
  ],
  contained_db: [bool().describe('Users of SQL Server are in the database of the address, without logins.'), false],
  write_concern: [document(string()).describe('Write concern (JSON, or that in base64), of MongoDB.'), ''],
  tls: [bool().describe('Uses TLS, of Redis and Valkey.'), false],
  insecure_tls: [bool().describe('Does not verify the certificate, of Redis and Valkey.'), false],
  ca_cert: [string().describe('CA certificates (PEM) for Redis and Valkey.'), ''],
  tls_ca: [string().describe('CA certificates (PEM) that signed the certificate of the database.'), ''],
  tls_certificate: [string().describe('Client certificate (PEM) for PostgreSQL; needs private_key.'), ''],
  private_key: [sentTo(secretString(), ...places).describe('PEM key of tls_certificate.'), ''],
  tls_certificate_key: [
    sentTo(secretString(), ...places).describe('Client certificate and key (PEM) for MySQL and MongoDB.'),
    '',
  ],
  tls_server_name: [
    string().describe('The name in the certificate of MySQL, MongoDB or SQL Server, if it is not the host.'),
    '',
  ],
  tls_skip_verify: [bool().describe('Does not verify the certificate of MySQL, MongoDB or SQL Server.'), false],
});

/** A connection as written and stored. */
export const configFields = recordFields({
  plugin_name: [string().describe('Kind of database, such as postgresql-database-plugin.'), ''],
  plugin_version: [string().describe('Must be empty: there is one version of each kind.'), ''],
  allowed_roles: [commaList().describe('Roles that may use it; `*` for all, `app-*` for some, none by default.'), []],
  root_rotation_statements: [
    stringList().describe('Statement that changes the password of username; empty for the default.'),
    [],
  ],
  password_policy: [string().describe('Password policy of the namespace; empty for 20 characters.'), ''],
});

/** The settings of a connection. */
export type DatabaseConfig = z.output<typeof connectionFields.input>;
