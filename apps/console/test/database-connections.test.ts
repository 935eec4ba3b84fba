import { describe, expect, it } from '@jest/globals';
import { allows, type Connection, hostOf } from '../src/secrets/engines/database/connection';

const connection = (part: Partial<Connection>): Connection => ({
  plugin_name: 'postgresql-database-plugin',
  allowed_roles: [],
  connection_details: {},
  root_credentials_rotate_statements: [],
  password_policy: '',
  ...part,
});

describe('the description of a connection', () => {
  it.each([
    [
      { connection_url: 'postgresql://{{username}}:{{password}}@db.example:5432/app?sslmode=require' },
      'db.example:5432',
    ],
    [{ connection_url: 'postgresql://app:xxxxx@[fd00::1]:5432/app' }, '[fd00::1]:5432'],
    [
      { connection_url: 'mongodb://a:p@ss@one.example:27017,two.example:27017/admin' },
      'one.example:27017,two.example:27017',
    ],
    [{ connection_url: '{{username}}:{{password}}@tcp(db.example:3306)/' }, 'db.example:3306'],
    [{ connection_url: "host=db.example port=5433 user=app password='a b'" }, 'db.example:5433'],
    [{ connection_url: '', host: 'cache.example', port: 6380 }, 'cache.example:6380'],
    [{}, '–'],
  ])('names the host of %j, without user and password', (details, host) => {
    expect(hostOf(details)).toBe(host);
  });

  it.each([
    [['*'], 'app', true],
    [['app-*'], 'app-read', true],
    [['app-*'], 'app', false],
    [['a.b'], 'aXb', false],
    [['*-read', 'web'], 'app-read', true],
    [[], 'app', false],
  ])('shows whether the allowed roles %j include %s', (allowed_roles, role, is) => {
    expect(allows(connection({ allowed_roles }), role)).toBe(is);
  });
});
