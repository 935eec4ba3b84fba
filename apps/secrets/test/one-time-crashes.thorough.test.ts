import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { type Algorithm, base32, codeFor, counterAt } from '@keystead/auth';
import { type Flow, flowsOf } from '@keystead/testing';
import { until } from './fresh-storage';
import { Kills } from './kills';
import type { Answer, NodeProcess } from './nodes';
import { readSshCertificate } from './ssh-certificate';

// A node is killed before and after each commit while several callers create and use one-time passwords and codes, and
// change the issuers of SSH certificates. No password or code may be accepted twice, none that was shown may be lost
// unless it may have been used, and issuers must keep their keys. Normally three kills, in the long form the whole
// matrix.

const crowd = 4;
const many = <T>(make: (n: number) => Promise<T>) => Promise.all(Array.from({ length: crowd }, (_, n) => make(n)));
const line = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGPKSUTyz1HwHReFVvD5obVsALAgJRNarH4TRpNePnAS';
const periodSeconds = 3600;
const algorithm: Algorithm = 'SHA1';

/** The current code of a key. */
const codeNow = (key: Buffer): string =>
  codeFor({ key, algorithm, digits: 6, periodSeconds }, counterAt(Date.now(), periodSeconds));

describe('a node killed while it creates and uses one-time secrets', () => {
  const kills = new Kills(/^(commit|lease):/);
  /** Answers since the last check: passwords that must still be valid, and those that must not. */
  const fresh: string[] = [];
  const used: string[] = [];
  /** Passwords that may have been used. */
  const unsure: string[] = [];
  const codes: { name: string; code: string; times: number }[] = [];
  const certificates: string[] = [];
  const gone: string[] = [];

  beforeAll(async () => {
    await kills.start();
    await kills.write('sys/mounts/ssh', { type: 'ssh' });
    await kills.write('sys/mounts/totp', { type: 'totp' });
    await kills.write('ssh/roles/host', { key_type: 'otp', default_user: 'jane', cidr_list: '10.0.0.0/8' });
    await kills.write('ssh/config/ca', { key_type: 'ed25519' });
    const role = { key_type: 'ca', allow_user_certificates: true, allowed_users: '*' };
    await kills.write('ssh/roles/user', role);
  }, 240_000);
  afterAll(() => kills.end());

  const asking = (node: NodeProcess, path: string, body: object = {}) => node.ask('POST', path, kills.root, body);
  const listed = async (path: string): Promise<string[]> =>
    (await kills.living.ask('LIST', path, kills.root)).body?.data?.keys ?? [];
  const make = async (node: NodeProcess): Promise<Answer[]> => {
    const answers = await many(() => asking(node, 'ssh/creds/host', { ip: '10.1.1.1' }));
    return answers.filter(({ status }) => status === 200);
  };
  const sign = async (node: NodeProcess) => {
    const { status, body } = await asking(node, 'ssh/sign/user', { public_key: line, valid_principals: 'jane' });
    if (status === 200) certificates.push(body.data.signed_key);
  };
  const keepCode = async () => {
    const name = randomUUID();
    const key = randomBytes(20);
    await kills.write(`totp/keys/${name}`, { key: base32(key), period: periodSeconds, algorithm });
    const kept = { name, code: codeNow(key), times: 0 };
    codes.push(kept);
    return kept;
  };
  const spend = async (node: NodeProcess, kept: { name: string; code: string; times: number }) => {
    const { status, body } = await asking(node, `totp/code/${kept.name}`, { code: kept.code });
    if (status === 200 && body.data.valid) kept.times += 1;
  };

  const flows: readonly Flow<NodeProcess>[] = [
    {
      name: 'passwords made',
      prepare: async () => async (node) => void fresh.push(...(await make(node)).map(({ body }) => body.data.key)),
      sample: 'commit:after',
    },
    {
      name: 'passwords used',
      async prepare() {
        const made = (await make(kills.living)).map(({ body }) => body.data.key as string);
        return async (node) => {
          await Promise.all(
            made.flatMap((otp) =>
              // Two simultaneous uses.
              [1, 2].map(async () => {
                const { status } = await node.ask('POST', 'ssh/verify', undefined, { otp });
                (status === 200 ? used : unsure).push(otp);
              }),
            ),
          );
        };
      },
      sample: 'commit:after',
    },
    {
      name: 'passwords revoked',
      async prepare() {
        const made = (await make(kills.living)).map(({ body }) => body);
        return async (node) => {
          await Promise.all(
            made.map(async ({ lease_id, data }) => {
              const { status } = await asking(node, 'sys/leases/revoke', { lease_id });
              (status === 204 ? gone : unsure).push(data.key);
            }),
          );
        };
      },
    },
    {
      name: 'another default issuer while others sign',
      prepare: async () => (node) =>
        Promise.all([sign(node), asking(node, 'ssh/config/ca', { key_type: 'ed25519' }), sign(node)]),
      sample: 'commit:after',
    },
    {
      name: 'issuers removed while others sign',
      async prepare() {
        await kills.write('ssh/issuers/import', { key_type: 'ed25519' });
        const { data } = (await kills.read('ssh/config/issuers')).body;
        const others = (await listed('ssh/issuers')).filter((id) => id !== data.default);
        return (node) =>
          Promise.all([
            sign(node),
            ...others.map((id) => node.ask('DELETE', `ssh/issuer/${id}`, kills.root)),
            sign(node),
          ]);
      },
    },
    {
      name: 'all issuers replaced',
      async prepare() {
        return async (node) => {
          await node.ask('DELETE', 'ssh/config/ca', kills.root);
          await asking(node, 'ssh/config/ca', { key_type: 'ed25519' });
          await sign(node);
        };
      },
    },
    {
      name: 'codes used',
      async prepare() {
        const kept = await Promise.all([keepCode(), keepCode()]);
        return (node) => Promise.all(kept.flatMap((one) => [spend(node, one), spend(node, one), spend(node, one)]));
      },
      sample: 'commit:after',
    },
    {
      name: 'a key replaced by the same one while its code is used',
      async prepare() {
        const name = randomUUID();
        const key = randomBytes(20);
        const settings = { key: base32(key), period: periodSeconds, algorithm };
        await kills.write(`totp/keys/${name}`, settings);
        const kept = { name, code: codeNow(key), times: 0 };
        codes.push(kept);
        return (node) =>
          Promise.all([spend(node, kept), asking(node, `totp/keys/${name}`, settings), spend(node, kept)]);
      },
    },
  ];

  /** Answers that the surviving node contradicts. Afterwards the issuers are reset. */
  async function look(): Promise<object> {
    await kills.swept();
    const wrong: string[] = [];
    const verify = async (otp: string) => (await kills.living.ask('POST', 'ssh/verify', undefined, { otp })).status;
    const passwords = `entry WHERE path LIKE 'otp/%'`;
    if ((await kills.count(passwords)) > (await kills.count("lease WHERE path = 'ssh/creds/host/'"))) {
      wrong.push('a password without a lease');
    }
    if (new Set(used).size !== used.length) wrong.push('a password counted twice');
    for (const otp of [...used, ...gone]) if ((await verify(otp)) === 200) wrong.push('a password counted again');
    for (const otp of fresh) {
      if ((await verify(otp)) !== 200) wrong.push('a password is lost');
      if ((await verify(otp)) === 200) wrong.push('a new password counted twice');
    }
    for (const otp of unsure) {
      await verify(otp);
      if ((await verify(otp)) === 200) wrong.push('a password counted twice after all');
    }
    for (const kept of codes) {
      const before = kept.times;
      await spend(kills.living, kept);
      await spend(kills.living, kept);
      if (kept.times > 1) wrong.push(`a code counted ${kept.times} times, ${before} of them before`);
    }
    wrong.push(...(await wrongIssuers()));
    for (const list of [fresh, used, unsure, codes, certificates, gone]) list.length = 0;
    await kills.write('sys/leases/revoke-prefix/ssh/creds', { sync: true });
    await until(async () => (await kills.count(passwords)) === 0);
    return { wrong };
  }

  async function wrongIssuers(): Promise<string[]> {
    const wrong: string[] = [];
    const ids = await listed('ssh/issuers');
    const keys = await kills.count(
      `entry e JOIN mount m ON m.id = e.mount_id WHERE m.type = 'ssh' AND e.path LIKE 'key/%'`,
    );
    if (keys !== ids.length) wrong.push(`${ids.length} issuers have ${keys} keys`);
    for (const id of ids) {
      const name = randomUUID();
      const role = { key_type: 'ca', allow_user_certificates: true, allowed_users: '*', issuer_ref: id };
      await kills.write(`ssh/roles/${name}`, role);
      const signed = await kills.write(`ssh/sign/${name}`, { public_key: line, valid_principals: 'jane' });
      const { public_key } = (await kills.read(`ssh/issuer/${id}`)).body.data;
      if (readSshCertificate(signed.body.data.signed_key).signer !== public_key.trim()) wrong.push(`key of ${id}`);
      await kills.living.ask('DELETE', `ssh/roles/${name}`, kills.root);
    }
    for (const certificate of certificates) {
      if (!readSshCertificate(certificate).principals.includes('jane'))
        wrong.push('a certificate has another principal');
    }
    // The next flow signs.
    if (ids.length === 0) await kills.write('ssh/config/ca', { key_type: 'ed25519' });
    return wrong;
  }

  it.each(flowsOf(flows))(
    'during $name accepts no secret twice, and loses no secret that was shown',
    (flow) => kills.withstands(flow, { wrong: [] }, look),
    3_600_000,
  );
});
