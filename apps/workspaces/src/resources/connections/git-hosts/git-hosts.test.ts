import { createHmac } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { hostOf } from './hosts';
import type { DeliveryHeaders } from './reading';

const first = 'a'.repeat(40);
const second = 'b'.repeat(40);
const none = '0'.repeat(40);
const secret = 'of the webhook';
const sender = { login: 'grace', avatar_url: 'https://git.test/a.png', html_url: 'https://git.test/grace' };
const repository = { id: 42, full_name: 'acme/net' };
const hmac = (text: string, key = secret): string => createHmac('sha256', key).update(text).digest('hex');

const cloudRef = (type: string, name: string, hash: string) => ({ type, name, target: { hash } });
const centerPush = (id: string, fromHash: string, toHash: string) => ({
  actor: { name: 'grace' },
  repository: { id: 42 },
  changes: [{ ref: { id }, refId: id, fromHash, toHash }],
});
const azurePush = (name: string, oldObjectId: string, newObjectId: string) => ({
  id: 'd-1',
  eventType: 'git.push',
  resource: {
    refUpdates: [{ name, oldObjectId, newObjectId }],
    repository: { id: '42' },
    pushedBy: { uniqueName: 'grace' },
  },
});

/** Shortened examples from the hosts' public documentation. */
const hosts = {
  gitea: {
    headers: (event: string, text: string): DeliveryHeaders => ({
      'x-gitea-event': event,
      'x-gitea-delivery': 'd-1',
      'x-gitea-signature': hmac(text),
    }),
    forged: { 'x-gitea-signature': hmac('other') },
    push: { ref: 'refs/heads/main', before: first, after: second, repository, sender },
    tag: { ref: 'refs/tags/v1', before: none, after: second, repository, sender },
    gone: { ref: 'refs/heads/old', before: first, after: none, repository, sender },
    pull: { action: 'synchronized', number: 7, pull_request: { number: 7 }, repository, sender },
    names: { push: 'push', pull: 'pull_request_sync' },
  },
  github: {
    headers: (event: string, text: string): DeliveryHeaders => ({
      'x-github-event': event,
      'x-github-delivery': 'd-1',
      'x-hub-signature-256': `sha256=${hmac(text)}`,
    }),
    forged: { 'x-hub-signature-256': `sha256=${hmac('other')}` },
    push: { ref: 'refs/heads/main', before: first, after: second, repository, sender },
    tag: { ref: 'refs/tags/v1', before: none, after: second, created: true, repository, sender },
    gone: { ref: 'refs/heads/old', before: first, after: none, deleted: true, repository, sender },
    pull: { action: 'synchronize', number: 7, pull_request: { number: 7 }, repository, sender },
    names: { push: 'push', pull: 'pull_request' },
  },
  gitlab_hosted: {
    headers: (event: string): DeliveryHeaders => ({
      'x-gitlab-event': event,
      'x-gitlab-event-uuid': 'd-1',
      'x-gitlab-token': secret,
    }),
    forged: { 'x-gitlab-token': 'another' },
    push: {
      object_kind: 'push',
      ref: 'refs/heads/main',
      before: first,
      after: second,
      user_username: 'grace',
      project: { id: 42 },
    },
    tag: {
      object_kind: 'tag_push',
      ref: 'refs/tags/v1',
      before: none,
      after: second,
      user_username: 'grace',
      project: { id: 42 },
    },
    gone: {
      object_kind: 'push',
      ref: 'refs/heads/old',
      before: first,
      after: none,
      user_username: 'grace',
      project: { id: 42 },
    },
    pull: {
      object_kind: 'merge_request',
      user: { username: 'grace' },
      project: { id: 42 },
      object_attributes: { iid: 7 },
    },
    names: { push: 'Push Hook', pull: 'Merge Request Hook' },
  },
  bitbucket_hosted: {
    headers: (event: string, text: string): DeliveryHeaders => ({
      'x-event-key': event,
      'x-request-uuid': 'd-1',
      'x-hub-signature': `sha256=${hmac(text)}`,
    }),
    forged: { 'x-hub-signature': `sha256=${hmac('other')}` },
    push: {
      actor: { nickname: 'grace' },
      repository: { uuid: '42' },
      push: { changes: [{ old: cloudRef('branch', 'main', first), new: cloudRef('branch', 'main', second) }] },
    },
    tag: {
      actor: { nickname: 'grace' },
      repository: { uuid: '42' },
      push: { changes: [{ old: null, new: cloudRef('tag', 'v1', second) }] },
    },
    gone: {
      actor: { nickname: 'grace' },
      repository: { uuid: '42' },
      push: { changes: [{ old: cloudRef('branch', 'old', first), new: null }] },
    },
    pull: { actor: { nickname: 'grace' }, repository: { uuid: '42' }, pullrequest: { id: 7 } },
    names: { push: 'repo:push', pull: 'pullrequest:updated' },
  },
  bitbucket_data_center: {
    headers: (event: string, text: string): DeliveryHeaders => ({
      'x-event-key': event,
      'x-request-id': 'd-1',
      'x-hub-signature': `sha256=${hmac(text)}`,
    }),
    forged: { 'x-hub-signature': `sha256=${hmac('other')}` },
    push: centerPush('refs/heads/main', first, second),
    tag: centerPush('refs/tags/v1', none, second),
    gone: centerPush('refs/heads/old', first, none),
    pull: { actor: { name: 'grace' }, pullRequest: { id: 7, toRef: { repository: { id: 42 } } } },
    names: { push: 'repo:refs_changed', pull: 'pr:from_ref_updated' },
  },
  ado_services: {
    headers: (): DeliveryHeaders => ({
      authorization: `Basic ${Buffer.from(`keystead:${secret}`).toString('base64')}`,
    }),
    forged: { authorization: `Basic ${Buffer.from('keystead:another').toString('base64')}` },
    push: azurePush('refs/heads/main', first, second),
    tag: azurePush('refs/tags/v1', none, second),
    gone: azurePush('refs/heads/old', first, none),
    pull: {
      id: 'd-1',
      eventType: 'git.pullrequest.updated',
      resource: { pullRequestId: 7, repository: { id: '42' }, createdBy: { uniqueName: 'grace' } },
    },
    names: { push: 'git.push', pull: 'git.pullrequest.updated' },
  },
} as const;

describe.each(Object.entries(hosts))('deliveries of %s', (provider, shapes) => {
  const host = hostOf(provider)!;
  const told = (event: string, body: object) => host.eventsOf(shapes.headers(event, ''), body);
  const { push, pull } = shapes.names;

  it('are genuine only with the secret, over the exact bytes', () => {
    const text = JSON.stringify(shapes.push);
    const headers = shapes.headers(push, text);
    expect(host.isGenuine(headers, Buffer.from(text), secret)).toBe(true);
    expect(host.isGenuine(headers, Buffer.from(text), 'another')).toBe(false);
    expect(host.isGenuine(headers, Buffer.from(text), '')).toBe(false);
    expect(host.isGenuine({ ...headers, ...shapes.forged }, Buffer.from(text), secret)).toBe(false);
    expect(host.isGenuine({}, Buffer.from(text), secret)).toBe(false);
    expect(host.deliveryId(headers, shapes.push)).toBe('d-1');
  });

  it('report pushes, tags and pull requests in one shape', () => {
    expect(told(push, shapes.push)).toEqual([
      expect.objectContaining({ kind: 'push', branch: 'main', before: first, after: second, repositoryId: '42' }),
    ]);
    expect(told(push, shapes.push)[0]?.sender.username).toBe('grace');
    expect(told(push, shapes.gone)).toEqual([expect.objectContaining({ kind: 'push', branch: 'old', after: null })]);
    expect(told(push, shapes.tag)).toEqual([expect.objectContaining({ kind: 'tag', tag: 'v1', after: second })]);
    expect(told(pull, shapes.pull)).toEqual([
      expect.objectContaining({ kind: 'pull-request', number: 7, repositoryId: '42' }),
    ]);
  });

  it.each([null, [], 'text', {}, { ref: 7 }, { repository: 'x', ref: 'refs/notes/x' }])(
    'contain no events in %j',
    (body) => {
      expect(host.eventsOf(shapes.headers(push, ''), body)).toEqual([]);
      expect(host.eventsOf(shapes.headers(pull, ''), body)).toEqual([]);
    },
  );
});
