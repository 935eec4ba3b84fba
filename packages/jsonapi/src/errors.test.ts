import { describe, expect, it } from '@jest/globals';
import { Refusal, type RefusalKind } from '@keystead/refusal';
import { badParameter, errorObjects, invalidAll, MissingPermission, statusOf, ValidationFailed } from './index';

describe('a refusal', () => {
  it.each<[RefusalKind, string, string]>([
    ['malformed', '400', 'bad request'],
    ['denied', '403', 'forbidden'],
    ['unsupported-path', '404', 'not found'],
    ['unsupported-operation', '404', 'not found'],
    ['conflict', '409', 'conflict'],
    ['transition', '409', 'transition not allowed'],
    ['precondition', '412', 'precondition failed'],
    ['too-large', '413', 'payload too large'],
    ['late', '408', 'request timeout'],
    ['media-type', '415', 'unsupported media type'],
    ['invalid', '422', 'unprocessable entity'],
    ['limited', '429', 'Too many requests'],
    ['sealed', '503', 'service unavailable'],
    ['not-initialised', '503', 'service unavailable'],
    ['upstream', '502', 'bad gateway'],
    ['unavailable', '503', 'service unavailable'],
    ['timeout', '503', 'service unavailable'],
    ['cap-exceeded', '500', 'internal server error'],
  ])('that is %s answers %s with the reason', (kind, status, title) => {
    expect(errorObjects(new Refusal(kind, 'because'))).toEqual([{ status, title, detail: 'because' }]);
    expect(errorObjects(new Refusal(kind, ''))).toEqual([{ status, title }]);
    expect(statusOf(kind)).toBe(Number(status));
  });

  it('of an unknown caller gives no reason', () => {
    expect(errorObjects(new Refusal('unauthenticated', 'secret reason'))).toEqual([
      { status: '401', title: 'unauthorized' },
    ]);
  });

  it('for a missing permission names it only to those who may know', () => {
    const refusal = new MissingPermission('can-lock');
    expect(errorObjects(refusal)).toEqual([{ status: '404', title: 'not found' }]);
    expect(errorObjects(refusal, { reasons: true })).toEqual([
      { status: '404', title: 'not found', code: 'permission-missing', meta: { reason: 'this needs can-lock' } },
    ]);
    expect(errorObjects(new Refusal('missing', ''), { reasons: true })).toEqual([
      { status: '404', title: 'not found' },
    ]);
  });

  it('of a query parameter names it', () => {
    expect(errorObjects(badParameter('page[size]', 'page[size] must be a positive integer'))).toEqual([
      {
        status: '400',
        title: 'bad request',
        detail: 'page[size] must be a positive integer',
        source: { parameter: 'page[size]' },
      },
    ]);
  });

  it('in the older wording has its own title and sentence', () => {
    expect(errorObjects(new ValidationFailed('description', 'Description has already been taken'))).toEqual([
      {
        status: '422',
        title: 'invalid attributes',
        detail: 'Validation failed: Description has already been taken',
        source: { pointer: '/data/attributes/description' },
      },
    ]);
  });

  it('of several inputs points to each, including those inside a list', () => {
    const refusal = invalidAll([
      { path: ['data', 'type'], message: 'must be boxes' },
      { path: ['data', 'attributes', 'name'], message: 'must be a string' },
      { path: ['someList', 0, 'innerName'], message: 'is invalid' },
      { path: [0], message: 'is invalid' },
    ]);
    expect(errorObjects(refusal)).toEqual([
      {
        status: '422',
        title: 'unprocessable entity',
        detail: 'must be boxes',
        source: { pointer: '/data/type' },
      },
      {
        status: '422',
        title: 'invalid attribute',
        detail: 'Name must be a string',
        source: { pointer: '/data/attributes/name' },
      },
      {
        status: '422',
        title: 'invalid attribute',
        detail: 'Inner name is invalid',
        source: { pointer: '/data/attributes/some-list/0/inner-name' },
      },
      {
        status: '422',
        title: 'invalid attribute',
        detail: 'is invalid',
        source: { pointer: '/data/attributes/0' },
      },
    ]);
    expect(errorObjects(new Refusal('conflict', '', [{ path: ['name'], message: 'is taken' }]))).toEqual([
      { status: '409', title: 'conflict', detail: 'Name is taken', source: { pointer: '/data/attributes/name' } },
    ]);
  });
});
