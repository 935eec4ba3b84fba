import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { startWorkspaces } from './start-workspaces';

describe('pages', () => {
  const workspaces = startWorkspaces();

  it.each(['/app/settings/tokens?source=login', '/app/one-time-links/some-secret'])(
    '%s runs only what it brings along, loads nothing, and is kept nowhere',
    async (path) => {
      const { text, headers } = await request(workspaces.server).get(path).expect(200);
      expect(headers['content-type']).toBe('text/html; charset=utf-8');
      expect(headers['cache-control']).toBe('no-store');
      expect(headers['referrer-policy']).toBe('no-referrer');
      const policy = headers['content-security-policy']!;
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      const script = /<script>([\s\S]*)<\/script>/.exec(text)![1]!;
      // A page whose own script the browser refuses would be a page that does nothing.
      expect(policy).toContain(`'sha256-${createHash('sha256').update(script).digest('base64')}'`);
      expect(() => new Function(script)).not.toThrow();
      expect(text).not.toMatch(/(src|href)=/);
      expect(text).not.toContain('some-secret');
    },
  );
});
