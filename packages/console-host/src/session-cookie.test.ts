import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { SessionCookie } from './session-cookie';

const id = 'A'.repeat(43);

describe('the cookie of a session', () => {
  const cookie = new SessionCookie('secrets', false);
  const request = (headers: object, socket: object = {}) => ({ headers, socket }) as unknown as IncomingMessage;

  it.each<[string, IncomingMessage, boolean]>([
    ['a plain connection', request({}), false],
    ['our own TLS', request({}, { encrypted: true }), true],
    ['TLS before a proxy', request({ origin: 'https://keystead.example' }), true],
    ['an origin that only contains https', request({ origin: 'http://https:1' }), false],
  ])('is bound to the host only if the browser uses HTTPS: %s', (_how, req, isBound) => {
    expect(cookie.set(req, id, 60).startsWith('__Host-')).toBe(isBound);
    expect(cookie.set(req, id, 60).includes('Secure')).toBe(isBound);
  });

  it('is deleted under each name that was sent', () => {
    const both = `keystead-secrets=${id}; __Host-keystead-secrets=${id}; other=1`;
    expect(cookie.clear(request({ cookie: both }))).toEqual([
      '__Host-keystead-secrets=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Strict',
      'keystead-secrets=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict',
    ]);
    expect(cookie.clear(request({}))).toEqual([]);
  });
});
