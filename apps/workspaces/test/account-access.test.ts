import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import request from 'supertest';
import { ProviderStandIn } from '../../secrets/test/stand-ins/oidc';
import { system } from '../src/kernel/audit/audit';
import { suspend } from '../src/resources/people/scim/account';
import { type Client, PASSWORD, resource, startWorkspaces } from './start-workspaces';

jest.setTimeout(120_000);

const ours = { 'X-Keystead-Console': '1', 'Sec-Fetch-Site': 'same-origin' };
const verifier = 'v'.repeat(64);
const redirect = 'http://localhost:10003/login';
const other = 'another good password';

/** Tables that belong to an account or a token and give no access that another person could have made. */
const noDoors: Record<string, string> = {
  membership: 'says what an account may see',
  external_identity: 'opens only for the subject at its provider, and an account that has one is never linked',
  scim_user: 'is the directory that keeps the account',
  run_worker: 'is of the tokens of agents',
};

/** The credentials of an account, with their number. */
const doors: Record<string, string> = {
  session: "SELECT FROM token WHERE user_id = $1 AND kind = 'session' AND id = $2",
  'API token': "SELECT FROM token WHERE user_id = $1 AND kind = 'user' AND id <> $2",
  'console session':
    "SELECT FROM console_session c JOIN token t ON t.id = c.token_id WHERE t.user_id = $1 AND t.kind = 'user' AND t.id <> $2",
  'code of the session': 'SELECT FROM login_code WHERE user_id = $1 AND token_id = $2',
  'code of the API token': 'SELECT FROM login_code WHERE user_id = $1 AND token_id <> $2',
  'reset link': "SELECT FROM one_time_link WHERE user_id = $1 AND kind = 'password-reset' AND $2 <> ''",
  'address link': "SELECT FROM one_time_link WHERE user_id = $1 AND kind = 'address-change' AND $2 <> ''",
  passkey: "SELECT FROM passkey WHERE user_id = $1 AND $2 <> ''",
  'second factor': "SELECT FROM two_factor WHERE user_id = $1 AND $2 <> ''",
};

interface Person {
  readonly id: string;
  readonly username: string;
  readonly api: Client;
  readonly session: Client;
  readonly sessionId: string;
  readonly cookie: string;
  readonly resetLink: string;
  readonly codes: string[];
}

describe('the credentials of an account', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  const idp = new ProviderStandIn();
  const sql = async (text: string, ...values: unknown[]) => (await workspaces.service.pool.query(text, values)).rows;
  let provider = '';
  let count = 0;

  const codeOf = async (by: Client): Promise<string> => {
    const attributes = {
      'client-id': 'keystead-cli',
      'redirect-uri': redirect,
      'code-challenge': createHash('sha256').update(verifier).digest('base64url'),
    };
    return (await by.post('account/login-codes', resource('login-codes', attributes)).expect(201)).body.data.attributes
      .code;
  };
  const exchange = (code: string) =>
    request(workspaces.server).post('/oauth2/token').type('form').send({
      grant_type: 'authorization_code',
      client_id: 'keystead-cli',
      redirect_uri: redirect,
      code,
      code_verifier: verifier,
    });

  /** A person with every kind of credential. */
  const withDoors = async (): Promise<Person> => {
    const username = `person-${++count}`;
    const api = await workspaces.person(username);
    const entered = await workspaces.anyone
      .post('session', resource('sessions', { username, password: PASSWORD }))
      .expect(201);
    const session = workspaces.as(entered.body.data.attributes.token);
    const console = await request(workspaces.server)
      .post('/ui/session')
      .set(ours)
      .send({ method: 'token', token: api.token })
      .expect(201);
    const reset = await admin.post(`admin/users/${api.id}/actions/reset_password`).expect(200);
    await session.patch('account/update', resource('users', { email: `new-${username}@corp.example` })).expect(200);
    await sql("INSERT INTO two_factor (user_id, secret) VALUES ($1, 'x')", api.id);
    await sql(
      "INSERT INTO passkey (id, user_id, credential_id, public_key, counter, name, last_asked_at, created_at) VALUES ($2, $1, $2, 'x', 0, 'x', now(), now())",
      api.id,
      `passkey-${username}`,
    );
    return {
      id: api.id,
      username,
      api,
      session,
      sessionId: entered.body.data.id,
      cookie: (console.headers['set-cookie'] as unknown as string[])[0]!.split(';')[0]!,
      resetLink: new URL(reset.body.meta['reset-url']).pathname.replace('/app/', '/api/v2/'),
      codes: [await codeOf(session), await codeOf(api)],
    };
  };

  interface End {
    readonly happens: (person: Person) => Promise<unknown>;
    /** The credentials that survive, each with the reason. */
    readonly keeps: Record<string, string>;
  }
  const othersStay = 'only what was signed out ends';
  const ends: Record<string, End> = {
    'signing out': {
      happens: ({ session }) => session.delete('session').expect(204),
      keeps: Object.fromEntries(
        Object.keys(doors)
          .filter((door) => !door.endsWith('session'))
          .concat('console session')
          .map((door) => [door, othersStay]),
      ),
    },
    'signing out of the console': {
      happens: ({ cookie }) =>
        request(workspaces.server)
          .delete('/ui/session')
          .set({ ...ours, Cookie: cookie })
          .expect(204),
      keeps: Object.fromEntries(
        Object.keys(doors)
          .filter((door) => !['console session', 'code of the API token'].includes(door))
          .map((door) => [door, othersStay]),
      ),
    },
    'another password': {
      happens: ({ api }) =>
        api
          .patch(
            'account/password',
            resource('users', { current_password: PASSWORD, password: other, password_confirmation: other }),
          )
          .expect(200),
      keeps: {
        'API token': 'tokens of programs outlive a password',
        'console session': 'it is of the token that made the change',
        'address link': 'it asks for the password',
        'second factor': 'it is of the same person',
        passkey: 'it is of the same person',
      },
    },
    'a reset of the password': {
      happens: ({ resetLink }) =>
        workspaces.anyone.post(resetLink, resource('one-time-links', { password: other })).expect(200),
      keeps: {
        'API token': 'tokens of programs outlive a password',
        'address link': 'it asks for the password',
        'second factor': 'it is of the same person',
        passkey: 'it is of the same person',
      },
    },
    'a person whom a provider vouches for': {
      happens: async ({ id, username }) => {
        const left = await request(workspaces.server).get(`/ui/sign-in/${provider}`).expect(303);
        const cookie = (left.headers['set-cookie'] as unknown as string[])[0]!.split(';')[0]!;
        const claims = { sub: username, email: `${username}@example.com`, email_verified: true };
        const sent = idp.signIn(left.headers.location!, claims);
        await request(workspaces.server).get('/ui/sign-in/callback').query(sent).set('Cookie', cookie).expect(303);
        const account = await sql('SELECT unconfirmed_email, password_hash FROM user_account WHERE id = $1', id);
        expect(account).toEqual([{ unconfirmed_email: null, password_hash: null }]);
      },
      keeps: {},
    },
    'a suspension by the directory': {
      happens: ({ id }) => workspaces.service.db.transaction((tx) => suspend(tx, system, id, Date.now())),
      keeps: {
        'second factor': 'it opens nothing by itself',
        passkey: 'it opens nothing while its person is suspended',
      },
    },
  };

  beforeAll(async () => {
    await idp.start();
    const attributes = {
      name: 'Example',
      issuer: idp.address,
      'client-id': idp.clientId,
      'client-secret': idp.clientSecret,
      'links-accounts': true,
    };
    const made = await admin.post('admin/sign-in-providers', resource('sign-in-providers', attributes)).expect(201);
    provider = made.body.data.id;
  });
  afterAll(() => idp.stop());

  it('are listed here, for every table that belongs to an account or to a token', async () => {
    const tables = await sql(
      `SELECT DISTINCT conrelid::regclass::text AS name FROM pg_constraint
        WHERE contype = 'f' AND confrelid IN ('user_account'::regclass, 'token'::regclass) ORDER BY 1`,
    );
    const known = Object.values(doors).map((text) => /FROM (\w+)/.exec(text)![1]!);
    expect(tables.map(({ name }) => name)).toEqual([...new Set([...known, ...Object.keys(noDoors)])].sort());
  });

  it.each(Object.entries(ends))('end with %s, except those that are meant to stay', async (_, { happens, keeps }) => {
    const person = await withDoors();
    const standing = async () => {
      const open: string[] = [];
      for (const [door, text] of Object.entries(doors)) {
        const rows = await sql(text, person.id, person.sessionId);
        if (rows.length > 0) open.push(door);
      }
      return open.sort();
    };
    expect(await standing()).toEqual(Object.keys(doors).sort());
    await happens(person);
    expect(await standing()).toEqual(Object.keys(keeps).sort());
    const answers = await Promise.all(person.codes.map(exchange));
    const kept = ['code of the session', 'code of the API token'].map((door) => (door in keeps ? 200 : 400));
    expect(answers.map(({ status }) => status)).toEqual(kept);
  });
});
