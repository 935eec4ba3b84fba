import { expect, it } from '@jest/globals';
import { asOpened } from '../src/shell/as-opened';

it.each([
  ['http://127.0.0.1:8300/app/x?a=1#b', 'localhost', 'http://localhost:8300/app/x?a=1#b'],
  ['http://localhost:8300', '127.0.0.1', 'http://127.0.0.1:8300'],
  ['http://127.0.0.1:8300/app', '127.0.0.1', 'http://127.0.0.1:8300/app'],
  ['http://127.0.0.1:8300/app', 'w.example.com', 'http://127.0.0.1:8300/app'],
  ['https://w.example.com/app', 'localhost', 'https://w.example.com/app'],
  ['/app', 'localhost', '/app'],
])('the link %s leads, on a page of %s, to %s', (url, hostname, expected) => {
  expect(asOpened(url, { hostname } as Location)).toBe(expected);
});
