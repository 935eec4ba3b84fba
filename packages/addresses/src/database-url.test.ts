import { describe, expect, it } from '@jest/globals';
import { wrongWithDatabaseUrl } from './index';

describe('an address of a database', () => {
  it.each([
    'postgresql://u:p@h:5432/secrets',
    'postgres://h/secrets?sslmode=require',
    'postgresql:///secrets?host=/run/postgresql',
    'postgresql://h/b%20c',
  ])('%s is accepted', (text) => expect(wrongWithDatabaseUrl(text)).toBeUndefined());

  it.each([
    ['mysql://h/secrets', 'is not a postgresql:// address'],
    ['secrets', 'is not a postgresql:// address'],
    ['postgresql://h:port/secrets', 'is not a postgresql:// address'],
    ['postgresql://u:hidden@h', 'contains no database: use postgresql://user:password@host:port/name'],
    ['postgresql://u:hidden@h/?sslmode=require', 'contains no database: use postgresql://user:password@host:port/name'],
    ['postgresql://u:hidden@h/%zz', 'contains a database name with an invalid percent-encoding'],
  ])('%s is refused', (text, problem) => expect(wrongWithDatabaseUrl(text)).toBe(problem));

  it('may omit the database if another setting names it', () => {
    expect(wrongWithDatabaseUrl('postgresql://h', { database: 'any' })).toBeUndefined();
    expect(wrongWithDatabaseUrl('mysql://h', { database: 'any' })).toBe('is not a postgresql:// address');
  });
});
