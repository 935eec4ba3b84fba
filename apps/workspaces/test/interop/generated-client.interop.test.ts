import { writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { generatedPythonSession, noPython, operationsIn, pythonGenerator, pythonWith } from '@keystead/testing';
import { startWorkspaces } from '../start-workspaces';

const it = noPython() ? test.skip : test;

describe.each(['self-hosted', 'hosted'] as const)('the document of the %s edition, in Python', (edition) => {
  const workspaces = startWorkspaces({ env: { WORKSPACES_EDITION: edition } });

  it('is accepted by Python’s validator', async () => {
    const python = await pythonWith(['openapi-spec-validator==0.9.0']);
    try {
      const described = path.join(python.folder, 'openapi.json');
      const { body } = await workspaces.anyone.get('openapi.json').expect(200);
      writeFileSync(described, JSON.stringify(body));
      const { stdout } = await python.run('openapi-spec-validator', [described]);
      expect(stdout.trim()).toBe(`${described}: OK`);
    } finally {
      python.remove();
    }
  }, 600_000);

  it('generates a client that uses projects, workspaces, variables, locks, states and access', async () => {
    const python = await pythonWith([pythonGenerator]);
    try {
      const { body } = await workspaces.anyone.get('openapi.json').expect(200);
      const { port } = workspaces.server.address() as AddressInfo;
      const program = path.join(__dirname, 'generated-client-session.py');
      const args = [`http://127.0.0.1:${port}`, workspaces.admin.token!];
      const said = await generatedPythonSession(python, body, program, args);
      expect(said).toContain(`generated client: ${operationsIn(body)} operations, done`);
    } finally {
      python.remove();
    }
  }, 1_200_000);
});
