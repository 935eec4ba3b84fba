import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { StsStandIn } from '../../secrets/test/stand-ins/sts';
import { startSecrets } from '../../secrets/test/start-secrets';
import { keystead } from './run-keystead';

describe('login by a signed request', () => {
  const cloud = new StsStandIn();
  const secrets = startSecrets();
  const home = mkdtempSync(join(tmpdir(), 'keystead-aws-'));
  const arn = 'arn:aws:iam::123456789012:user/people/ada';
  beforeAll(async () => {
    await cloud.start();
    cloud.signers.set('AKIAADA', { secret: 'right', arn, userId: 'AIDAADA' });
    await secrets.root.write('sys/auth/cloud', { type: 'aws' }).expect(204);
    const config = { sts_endpoint: cloud.address, iam_server_id_header_value: 'secrets.example.com' };
    await secrets.root.write('auth/cloud/config/client', config).expect(204);
    const role = {
      auth_type: 'iam',
      bound_iam_principal_arn: arn.replace('people/', ''),
      resolve_aws_unique_ids: false,
    };
    await secrets.root.write('auth/cloud/role/deploy', role).expect(204);
  });
  afterAll(async () => {
    await cloud.stop();
    rmSync(home, { recursive: true, force: true });
  });

  const env = (more: Record<string, string> = {}) => ({
    HOME: home,
    SERVICE_ADDR: `http://127.0.0.1:${(secrets.server.address() as AddressInfo).port}`,
    AWS_ACCESS_KEY_ID: 'AKIAADA',
    AWS_SECRET_ACCESS_KEY: 'right',
    AWS_ENDPOINT_URL_STS: cloud.address,
    ...more,
  });
  const command = ['login', '-method=aws', '-path=cloud', 'role=deploy'];

  it('signs with the credentials of the environment, for this server only', async () => {
    const { code, said } = await keystead([...command, 'header_value=secrets.example.com'], env());
    expect({ code, said }).toMatchObject({ code: 0, said: expect.stringContaining('token stored in') });
    const kept = readFileSync(join(home, '.keystead/token'), 'utf8').trim();
    const { body } = await secrets.as(kept).read('auth/token/lookup-self').expect(200);
    expect(body.data).toMatchObject({ display_name: 'cloud-ada', path: 'auth/cloud/login' });
  });

  it.each([
    ['no credentials', [], { AWS_SECRET_ACCESS_KEY: '' }, 1, 'set them'],
    ['no region', ['region=../x'], {}, 1, 'is not a region of AWS'],
    ['a wrong key', ['header_value=secrets.example.com'], { AWS_SECRET_ACCESS_KEY: 'wrong' }, 2, ''],
    ['a wrong server', ['header_value=other.example.com'], {}, 2, ''],
    ['a token service other than that of the method', ['region=eu-central-1'], { AWS_ENDPOINT_URL_STS: '' }, 2, ''],
  ])('explains an error: %s', async (_, values, more, code, text) => {
    expect(await keystead([...command, ...values], env(more))).toMatchObject({
      code,
      said: expect.stringContaining(text),
    });
  });
});
