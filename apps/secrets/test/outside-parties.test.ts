import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { FailingParty, failings } from '@keystead/testing';
import { senderTo } from './at-once-world';
import { until } from './fresh-storage';
import { IssuerStandIn } from './stand-ins/jwt';
import { ClusterStandIn } from './stand-ins/kubernetes';
import { startSecrets } from './start-secrets';
import { everyVisit, mountEveryKind } from './visits';

/** How to make a mount call an address: the writes before, and the request that then calls. */
interface Row {
  /** The answer if it is not 502, for a write that is refused by an earlier check. */
  readonly status?: number;
  readonly before: (address: string) => readonly [path: string, body: object][];
  readonly ask: (address: string) => readonly [method: string, path: string, body?: object];
}

const issuer = new IssuerStandIn();
const cluster = new ClusterStandIn();
const base64 = (text: string) => Buffer.from(text).toString('base64');
const iamRequest = (address: string) => ({
  iam_http_request_method: 'POST',
  iam_request_url: base64(`${address}/`),
  iam_request_body: base64('Action=GetCallerIdentity&Version=2011-06-15'),
  iam_request_headers: base64(
    JSON.stringify({
      Authorization:
        'AWS4-HMAC-SHA256 Credential=AKIA/20261128/us-east-1/sts/aws4_request, SignedHeaders=host;x-amz-date, Signature='.concat(
          '0'.repeat(64),
        ),
      'X-Amz-Date': '20261128T000000Z',
      Host: new URL(address).host,
    }),
  ),
});
const cloudKeys = { access_key: 'AKIA', secret_key: 'secret', max_retries: 0 };
const bound = { bound_iam_principal_arn: 'arn:aws:iam::123456789012:user/a' };

/** Every field of a mount that holds an address, by type and field; a string gives the reason for an omission. */
const rows: Readonly<Record<string, Row | string>> = {
  'scheduler address': {
    before: (address) => [
      ['config/access', { address, token: 't' }],
      ['role/ops', { policies: 'read' }],
    ],
    ask: () => ['GET', 'creds/ops'],
  },
  'cloudtwo iam_endpoint': {
    before: (address) => [
      ['config/root', { ...cloudKeys, iam_endpoint: address, sts_endpoint: address }],
      ['roles/user', { credential_type: 'iam_user', policy_arns: 'arn:aws:iam::aws:policy/ReadOnlyAccess' }],
    ],
    ask: () => ['GET', 'creds/user'],
  },
  'cloudtwo sts_endpoint': {
    before: (address) => [
      ['config/root', { ...cloudKeys, iam_endpoint: address, sts_endpoint: address }],
      ['roles/as', { credential_type: 'assumed_role', role_arns: 'arn:aws:iam::123456789012:role/x' }],
    ],
    ask: () => ['GET', 'sts/as'],
  },
  'jwt oidc_discovery_url': {
    status: 400,
    before: () => [],
    ask: (address) => ['POST', 'config', { oidc_discovery_url: address }],
  },
  'jwt jwks_url': {
    before: (address) => [
      ['config', { jwks_url: address, skip_jwks_validation: true }],
      ['role/dev', { role_type: 'jwt', user_claim: 'sub', bound_subject: 'ada' }],
    ],
    ask: () => ['POST', 'login', { role: 'dev', jwt: issuer.sign({ sub: 'ada' }) }],
  },
  'ldap url': {
    before: (address) => [
      [
        'config',
        {
          url: address.replace('http:', 'ldap:'),
          userdn: 'dc=acme',
          userattr: 'uid',
          request_timeout: 2,
          connection_timeout: 2,
        },
      ],
    ],
    ask: () => ['POST', 'login/ada', { password: 'p' }],
  },
  'kubernetes kubernetes_host': {
    before: (address) => [
      ['config', { kubernetes_host: address, kubernetes_ca_cert: cluster.ca, token_reviewer_jwt: 'r' }],
      ['role/web', { bound_service_account_names: 'web', bound_service_account_namespaces: 'shop' }],
    ],
    ask: () => ['POST', 'login', { role: 'web', jwt: cluster.token(cluster.accounts[0]!) }],
  },
  // The engine of the same name.
  'engine:kubernetes kubernetes_host': {
    before: (address) => [
      ['config', { kubernetes_host: address, kubernetes_ca_cert: cluster.ca, service_account_jwt: 'r' }],
      ['roles/web', { allowed_kubernetes_namespaces: 'shop', service_account_name: 'web' }],
    ],
    ask: () => ['POST', 'creds/web', {}],
  },
  'database connection_url': 'is called by drivers, not by HTTP',
  'database host': 'is called by drivers, not by HTTP',
  'database tls_server_name': 'is compared with a certificate',
  'ssh allow_host_certificates': 'is not an address',
  'totp url': 'is a key, and not called',
  'github base_url': {
    before: (address) => [['config', { organization: 'acme', organization_id: 42, base_url: address }]],
    ask: () => ['POST', 'login', { token: 't' }],
  },
  'aws sts_endpoint': {
    before: (address) => [
      ['config/client', { sts_endpoint: address }],
      ['role/dev', { ...bound, resolve_aws_unique_ids: false, auth_type: 'iam' }],
    ],
    ask: (address) => ['POST', 'login', { role: 'dev', ...iamRequest(address) }],
  },
  'aws iam_endpoint': {
    before: (address) => [['config/client', { ...cloudKeys, iam_endpoint: address, sts_endpoint: address }]],
    ask: () => ['POST', 'role/dev', { ...bound, auth_type: 'iam' }],
  },
  'cert ocsp_servers_override': 'is called in logins over TLS only, which revocation.test.ts makes',
  'cert ocsp_query_all_servers': 'is not an address',
  'aws iam_server_id_header_value': 'is not an address',
  'aws iam_request_url': 'is compared with sts_endpoint, and not called',
  'aws endpoint': 'is refused, because logins of machines are not built',
  'cert url': { before: () => [], ask: (address) => ['POST', 'crls/far', { url: address }] },
};

describe('an outside system that fails', () => {
  let aheadMs = 0;
  const secrets = startSecrets({ clock: { now: () => Date.now() + aheadMs } });
  const send = senderTo(secrets);
  const stray: unknown[] = [];
  const note = (error: unknown) => stray.push(error);
  const cases = Object.entries(rows).flatMap(([name, row]) =>
    typeof row === 'string' ? [] : failings.map((how) => ({ name, row, how, party: new FailingParty(how), at: '' })),
  );
  beforeAll(async () => {
    process.on('unhandledRejection', note).on('uncaughtException', note);
    await Promise.all([mountEveryKind(secrets), issuer.start(), cluster.start()]);
    await Promise.all(cases.map(({ party }) => party.start()));
  });
  afterAll(async () => {
    process.off('unhandledRejection', note).off('uncaughtException', note);
    await Promise.all([issuer.stop(), cluster.stop(), ...cases.map(({ party }) => party.stop())]);
  });

  it('has a row for every field that names an address', () => {
    const isAddress = /address|url|host|endpoint|server/;
    // Addresses for certificates are not called.
    const found = everyVisit(secrets)
      .filter(({ verb, at }) => verb === 'write' && !/^(sys|identity|cubbyhole|auth\/token|pki)\//.test(at))
      .flatMap(({ at, operation }) => {
        const [first, second] = at.split('/');
        const type = first === 'auth' ? second : first === 'kubernetes' ? 'engine:kubernetes' : first;
        const fields = Object.keys(operation.input?.shape ?? {}).filter((field) => isAddress.test(field));
        return fields.map((field) => `${type} ${field}`);
      });
    expect(Object.keys(rows).sort()).toEqual(found.sort());
  });

  it('is reported in time to affected callers only, and called again when it recovers', async () => {
    for (const [n, one] of cases.entries()) {
      const [, engine, name] = /^(engine:)?(\S+)/.exec(one.name)!;
      const type = name!;
      const isAuth = !engine && type !== 'scheduler' && type !== 'cloudtwo';
      one.at = `${isAuth ? 'auth/' : ''}party-${n}`;
      await secrets.root.write(`sys/${isAuth ? '' : 'mounts/'}${one.at}`, { type }).expect(204);
      for (const [path, body] of one.row.before(one.party.address)) {
        const { status, text } = await send('POST', `${one.at}/${path}`, secrets.rootToken, body);
        if (status >= 300) throw new Error(`${one.name} ${path}: ${status} ${text}`);
      }
    }
    const ask = ({ row, party, at }: (typeof cases)[number]) => {
      const [method, path, body] = row.ask(party.address);
      return send(method, `${at}/${path}`, secrets.rootToken, body);
    };
    let over = false;
    const others: number[] = [];
    const bystander = (async () => {
      for (; !over; await sleep(200)) others.push((await send('GET', 'sys/mounts', secrets.rootToken)).status);
    })();
    const answers = await Promise.all(
      cases.map(async (one) => ({ name: `${one.name}: ${one.how}`, ...(await ask(one)), heard: one.party.requests })),
    );
    over = true;
    await bystander;
    const wanted = cases.map(({ name, how, row }) => [`${name}: ${how}`, row.status ?? 502, how !== 'closed']);
    expect(answers.map(({ name, status, heard }) => [name, status, heard > 0])).toEqual(wanted);
    for (const { text } of answers) {
      expect(JSON.parse(text).errors[0]).toMatch(/unreachable|cannot be reached|no answer|invalid response/);
      expect(text.length).toBeLessThan(800);
    }
    expect(new Set(others)).toEqual(new Set([200]));
    await Promise.all(cases.map(({ party }) => party.recover()));
    await Promise.all(
      cases.map((one) =>
        until(async () => {
          aheadMs += 1000;
          await ask(one);
          return one.party.requests > 0;
        }),
      ),
    );
    expect(stray).toEqual([]);
  });
});
