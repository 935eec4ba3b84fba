import { describe, expect, it } from '@jest/globals';
import { jwkOf, newKey, signed } from '../../../../test/acme-client';
import { startAcme } from '../../../../test/acme-world';
import { withSecondNode } from '../../../../test/second-node';

describe('ACME on two nodes', () => {
  const { secrets, client, prove, csrFor } = startAcme();
  const nodes = withSecondNode(secrets);
  /** The same path on each node; the signed URL stays the same. */
  const onEach = (url: string) => nodes.map((node) => url.replace(/^http:\/\/[^/]+/, node));

  it('a nonce of one node is valid on the other, once among both', async () => {
    const acme = await client();
    const url = acme.kid!;
    for (let i = 0; i < 5; i++) {
      const header = { alg: 'ES256', nonce: await acme.nonce(), url, kid: url };
      const message = signed(header, undefined, acme.key);
      const answers = await Promise.all([...onEach(url), ...onEach(url)].map((at) => acme.send(at, message)));
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400]);
    }
  });

  it('an order that is finalized on both at once has one certificate', async () => {
    const acme = await client();
    const order = await acme.order('both.example.com');
    await prove(acme, order.body);
    const before = (await secrets.root.list('pki/certs').expect(200)).body.data.keys.length;
    const url = order.body.finalize;
    const csr = csrFor(['both.example.com']);
    const messages = await Promise.all(
      [1, 2, 3, 4].map(async () =>
        signed({ alg: 'ES256', nonce: await acme.nonce(), url, kid: acme.kid }, { csr }, acme.key),
      ),
    );
    const at = [...onEach(url), ...onEach(url)];
    const answers = await Promise.all(messages.map((message, i) => acme.send(at[i]!, message)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 403, 403, 403]);
    expect((await secrets.root.list('pki/certs').expect(200)).body.data.keys).toHaveLength(before + 1);
  });

  it('creates one account when both nodes are asked at once with the same key', async () => {
    const acme = await client();
    const { newAccount } = acme.directory;
    acme.kid = undefined;
    const key = newKey();
    const messages = await Promise.all(
      [1, 2].map(async () =>
        signed({ alg: 'ES256', nonce: await acme.nonce(), url: newAccount, jwk: jwkOf(key) }, {}, key),
      ),
    );
    const answers = await Promise.all(messages.map((message, i) => acme.send(onEach(newAccount)[i]!, message)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 201]);
    expect(new Set(answers.map(({ headers }) => headers.get('location'))).size).toBe(1);
  });
});
