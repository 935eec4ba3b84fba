import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { noPython, pythonWith } from '@keystead/testing';
import { startWorkspaces } from '../start-workspaces';

const it = noPython() ? test.skip : test;

describe.each(['self-hosted', 'hosted'] as const)('the document of the %s edition, in Python', (edition) => {
  const workspaces = startWorkspaces({ env: { WORKSPACES_EDITION: edition } });

  it('is accepted by the validator of that language', async () => {
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
});
