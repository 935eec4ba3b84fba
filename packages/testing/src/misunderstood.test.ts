import { describe, expect, it } from '@jest/globals';
import { misunderstood } from './misunderstood';

const log = `[00000] LOG:  database system is ready to accept connections
[42883] ERROR:  function max(bytea) does not exist at character 8
[42883] HINT:  No function matches the given name and argument types.
[42883] STATEMENT:  SELECT max(hash)
	  FROM lease
[23505] ERROR:  duplicate key value violates unique constraint "lease_pkey"
[23505] DETAIL:  Key (hash)=(1) already exists.
[23505] STATEMENT:  INSERT INTO lease VALUES (1)
[42883] ERROR:  function max(bytea) does not exist at character 8
[42883] HINT:  No function matches the given name and argument types.
[42883] STATEMENT:  SELECT max(hash)
	  FROM lease
[42501] ERROR:  permission denied for table lease
[42501] STATEMENT:  SELECT 1 FROM lease
[42P01] ERROR:  relation "leases" does not exist at character 15
`;

describe('a statement that the server does not understand', () => {
  it('is reported once, and other errors are not', () => {
    expect(misunderstood(log)).toEqual([
      'ERROR:  function max(bytea) does not exist at character 8\nSTATEMENT:  SELECT max(hash)\n\t  FROM lease',
      'ERROR:  relation "leases" does not exist at character 15',
    ]);
    expect(misunderstood('')).toEqual([]);
  });
});
