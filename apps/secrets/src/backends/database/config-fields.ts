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
  connection_url: [string().describe('Connection URL. {{username}} and {{password}} in it are replaced.'), ''],
  host: [string().describe('Host, for Redis and Valkey.'), ''],
  port: [int().describe('Port, for Redis and Valkey.'), 0],
  username: [string().describe('The user that creates and drops users.'), ''],
  password: [sentTo(secretString(), ...places).describe('Password of username; never shown.'), ''],
  disable_escaping: [bool().describe('Do not escape the user name and password in the connection URL.'), false],
  max_open_connections: [int().describe('Maximum number of open connections per node.'), 4],
  max_idle_connections: [int().describe('Maximum number of idle connections. 0: the same as max_open_connections.'), 0],
  max_connection_lifetime: [duration().describe('Maximum age of a connection; 0: no limit.'), 0],
  username_template: [
    document(string()).describe('Template for generated user names. Empty: the built-in template.'),
    '',
  ],
  password_authentication: [
    oneOf(['password', 'scram-sha-256'], (value) => `'${value}' is not a valid password authentication type`).describe(
      'scram-sha-256: send PostgreSQL a hash of each password, so that its log contains none.',
    ),
    'password',
  ],
  contained_db: [
    bool().describe(
      'Users of SQL Server are contained database users, in the database of the connection URL, without logins.',
    ),
    false,
  ],
  write_concern: [document(string()).describe('Write concern for MongoDB, as JSON or JSON in base64.'), ''],
  tls: [bool().describe('Use TLS, for Redis and Valkey.'), false],
  insecure_tls: [bool().describe('Do not verify the server certificate of Redis or Valkey.'), false],
  ca_cert: [string().describe('CA certificates (PEM) for Redis and Valkey.'), ''],
  tls_ca: [string().describe('CA certificates (PEM) that signed the certificate of the database.'), ''],
  tls_certificate: [string().describe('Client certificate (PEM) for PostgreSQL; needs private_key.'), ''],
  private_key: [sentTo(secretString(), ...places).describe('PEM key of tls_certificate.'), ''],
  tls_certificate_key: [
    sentTo(secretString(), ...places).describe(
      'Client certificate and key (PEM) in one string, for MySQL and MongoDB.',
    ),
    '',
  ],
  tls_server_name: [
    string().describe('Name in the server certificate of MySQL, MongoDB or SQL Server, if it differs from the host.'),
    '',
  ],
  tls_skip_verify: [bool().describe('Do not verify the server certificate of MySQL, MongoDB or SQL Server.'), false],
});

/** A connection as written and stored. */
export const configFields = recordFields({
  plugin_name: [string().describe('Database plugin, such as postgresql-database-plugin.'), ''],
  plugin_version: [string().describe('Must be empty: each plugin has only one version.'), ''],
  allowed_roles: [
    commaList().describe('Roles that may use this connection; `*` for all, `app-*` for a prefix. Default: none.'),
    [],
  ],
  root_rotation_statements: [
    stringList().describe('Statements that change the password of username. Empty: the default statements.'),
    [],
  ],
  password_policy: [string().describe('Password policy of the namespace. Empty: passwords of 20 characters.'), ''],
});

/** The settings of a connection that drivers read. */
export type DatabaseConfig = z.output<typeof connectionFields.input>;
