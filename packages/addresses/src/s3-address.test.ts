import { describe, expect, it } from '@jest/globals';
import { isS3Address, s3Address } from './index';

describe('an address of a bucket', () => {
  it('may consist of only the bucket name', () => {
    const standard = { bucket: 'b', prefix: '', region: 'us-east-1', endpoint: undefined, pathStyle: false };
    expect(s3Address('s3://b')).toEqual(standard);
    expect(s3Address('s3://b/')).toEqual(standard);
  });

  it('names a folder, a store and a region', () => {
    expect(s3Address('s3://b/one/two%20three//?endpoint=https://s.example.com/x&region=eu')).toEqual({
      bucket: 'b',
      prefix: 'one/two three/',
      region: 'eu',
      endpoint: 'https://s.example.com/x',
      pathStyle: true,
    });
    expect(s3Address('s3://b?endpoint=http://s&path-style=off').pathStyle).toBe(false);
    expect(s3Address('s3://b?path-style=on').pathStyle).toBe(true);
  });

  it('gets defaults only for the parts that it leaves out', () => {
    const defaults = { region: 'eu-1', endpoint: 'http://store' };
    expect(s3Address('s3://b', defaults)).toMatchObject({ ...defaults, pathStyle: true });
    expect(s3Address('s3://b?region=x&endpoint=http://y', defaults)).toMatchObject({
      region: 'x',
      endpoint: 'http://y',
    });
  });

  it.each([
    ['s3://', 'is not an address'],
    ['s3:///x', 'is not an address'],
    ['https://b/x', 'is not an address'],
    ['bucket', 'is not an address'],
    ['s3://b?acl=public', 'knows no acl; it may say endpoint, region, path-style'],
    ['s3://b?region=a&region=b', 'says its region twice'],
    ['s3://b?endpoint=ftp://x', 'its endpoint is not an http address'],
    ['s3://b?endpoint=http://', 'its endpoint is not an http address'],
    ['s3://b?endpoint=http://x:y', 'its endpoint is not an http address'],
    ['s3://b?path-style=yes', 'its path-style is neither on nor off'],
    ['s3://b/%zz', 'has a % that begins no sign'],
  ])('%s is refused', (text, message) => {
    expect(() => s3Address(text)).toThrow(message);
  });

  it('is distinguished from a path', () => {
    expect(['s3://b/x', 'backups', './s3://b'].map(isS3Address)).toEqual([true, false, false]);
  });
});
