import { execFileSync, spawnSync } from 'node:child_process';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { startSecrets } from '../start-secrets';

// The engine totp and `oathtool`, where it is installed: each checks the codes of the other.

const installed = spawnSync('oathtool', ['--version']).status === 0;
const paired = installed ? it : it.skip;

describe('oathtool', () => {
  const secrets = startSecrets();
  beforeAll(async () => {
    await secrets.root.write('sys/mounts/totp', { type: 'totp' }).expect(204);
  });
  const codeOf = (algorithm: string, digits: number, period: number, secret: string) =>
    execFileSync('oathtool', [`--totp=${algorithm}`, '-b', '-d', `${digits}`, '-s', `${period}s`, secret], {
      encoding: 'utf8',
    }).trim();

  paired.each(
    ['SHA1', 'SHA256', 'SHA512'].flatMap((algorithm) =>
      [6, 8].flatMap((digits) => [3600, 86_400].map((period) => ({ algorithm, digits, period }))),
    ),
  )('generates codes that we accept, and the same codes as we do: %j', async (scheme) => {
    const { algorithm, digits, period } = scheme;
    const fields = { generate: true, issuer: 'Acme', account_name: 'jane', key_size: 32 };
    const { url } = (await secrets.root.write('totp/keys/k', { ...scheme, ...fields }).expect(200)).body.data;
    const code = codeOf(algorithm, digits, period, new URL(url).searchParams.get('secret')!);
    expect((await secrets.root.read('totp/code/k').expect(200)).body.data.code).toBe(code);
    expect((await secrets.root.write('totp/code/k', { code }).expect(200)).body.data.valid).toBe(true);
  });
});
