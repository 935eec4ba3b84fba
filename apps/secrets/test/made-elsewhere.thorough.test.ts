import { describe, expect, it } from '@jest/globals';
import { withSecondNode } from './second-node';
import { startSecrets } from './start-secrets';

describe('an object that one node has created exists on the other once its creator has the answer', () => {
  const secrets = startSecrets();
  const urls = withSecondNode(secrets);

  const ask = async (node: number, method: string, at: string, body?: object, namespace?: string) => {
    const headers: Record<string, string> = { 'X-Service-Token': secrets.rootToken };
    if (namespace !== undefined) headers['X-Service-Namespace'] = namespace;
    const answer = await fetch(`${urls[node]}/v1/${at}`, { method, headers, body: body && JSON.stringify(body) });
    return answer.status;
  };

  it.each([
    [0, 1],
    [1, 0],
  ])('created on %i, used on %i', async (maker, user) => {
    const wrong: string[] = [];
    const must = async (what: string, asked: Promise<number>) => {
      const status = await asked;
      if (status >= 300) wrong.push(`${what}: ${status}`);
    };
    for (let n = 0; n < 30; n++) {
      const name = `made-${maker}-${n}`;
      await must('mount', ask(maker, 'POST', `sys/mounts/${name}`, { type: 'kv' }));
      await must('write below it', ask(user, 'POST', `${name}/key`, { a: 1 }));
      await must('namespace', ask(maker, 'POST', `sys/namespaces/${name}-space`));
      await must('mount in it', ask(user, 'POST', 'sys/mounts/kv', { type: 'kv' }, `${name}-space`));
      await must('write by path', ask(maker, 'POST', `${name}-space/kv/key`, { a: 1 }));
    }
    expect(wrong).toEqual([]);
  });
});
