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
    ['s3://b?acl=public', 'has the unknown parameter acl; allowed are endpoint, region, path-style'],
    ['s3://b?region=a&region=b', 'has the parameter region twice'],
    ['s3://b?endpoint=ftp://x', 'has an endpoint that is not an http or https URL'],
    ['s3://b?endpoint=http://', 'has an endpoint that is not an http or https URL'],
    ['s3://b?endpoint=http://x:y', 'has an endpoint that is not an http or https URL'],
    ['s3://b?path-style=yes', 'has a path-style that is neither on nor off'],
    ['s3://b/%zz', 'has an invalid percent-encoding'],
  ])('%s is refused', (text, message) => {
    expect(() => s3Address(text)).toThrow(message);
  });

  it('is distinguished from a path', () => {
    expect(['s3://b/x', 'backups', './s3://b'].map(isS3Address)).toEqual([true, false, false]);
  });
});
