import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { noPython, type Python, pythonWith } from '@keystead/testing';
import { DirectoryStandIn } from '../stand-ins/cloudone';
import { CloudStandIn } from '../stand-ins/cloudtwo';
import { startSecrets } from '../start-secrets';

const withPython = noPython() ? describe.skip : describe;

// All methods of the client, one by one: its classes for Azure and AWS use cloudone and cloudtwo.
withPython('the Python client hvac', () => {
  const directory = new DirectoryStandIn();
  const cloud = new CloudStandIn();
  const env: Record<string, string> = {};
  const where = { subscription: randomUUID(), group: 'rg-1' };
  let python: Python;
  beforeAll(async () => {
    python = await pythonWith(['hvac==2.4.0']);
    await cloud.start();
    const address = await directory.start();
    for (const host of ['AUTHORITY_HOST', 'RESOURCE_MANAGER', 'METADATA_HOST']) env[`CLOUDONE_${host}`] = address;
    env.SECRETS_AUDIT_FILE = path.join(python.folder, 'audit.log');
    directory.addMachine('vm1', where, { principalId: 'p-system' });
  }, 900_000);
  const secrets = startSecrets({ env });
  afterAll(async () => {
    await directory.stop();
    await cloud.stop();
    python?.remove();
  });

  it('works with every method that has an endpoint here', async () => {
    const machine = `/subscriptions/${where.subscription}/resourcegroups/${where.group}/providers/Microsoft.Compute/virtualMachines/vm1`;
    const given = {
      address: `http://127.0.0.1:${(secrets.server.address() as AddressInfo).port}`,
      token: secrets.rootToken,
      shares: secrets.recoveryKeys,
      cloud: cloud.address,
      key: cloud.rootKey,
      tenant: directory.tenant,
      resource: directory.resource,
      secret: directory.clientSecret,
      jwt: directory.sign({ oid: 'p-system', xms_mirid: machine }),
      ...where,
    };
    const session = path.join(__dirname, 'hvac-methods-session.py');
    const { stdout } = await python.run('python', [session, JSON.stringify(given)]);
    expect(stdout).toContain('hvac methods: done');
  }, 900_000);
});
