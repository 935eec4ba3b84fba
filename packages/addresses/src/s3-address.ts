/** A folder of a bucket in an S3-compatible store. */
export interface S3Address {
  readonly bucket: string;
  /** The prefix of every key, with a trailing slash; empty if there is none. */
  readonly prefix: string;
  readonly region: string;
  /** Undefined for the provider's default. */
  readonly endpoint: string | undefined;
  /** The bucket is part of the path, not of the host name. */
  readonly pathStyle: boolean;
}

/** Defaults for parts that an address omits. */
export interface S3Defaults {
  readonly region?: string;
  readonly endpoint?: string;
}

const parameters = ['endpoint', 'region', 'path-style'];

/** Whether a string looks like the address of a bucket. */
export const isS3Address = (text: string): boolean => text.startsWith('s3://');

/**
 * Reads `s3://bucket/prefix?endpoint=…&region=…&path-style=…`. Throws an Error whose message completes a sentence that
 * begins with the name of the setting.
 */
export function s3Address(text: string, defaults: S3Defaults = {}): S3Address {
  const url = isS3Address(text) && URL.canParse(text) ? new URL(text) : undefined;
  if (!url?.hostname) throw new Error('is not an address like s3://bucket/prefix');
  for (const name of url.searchParams.keys()) {
    if (!parameters.includes(name))
      throw new Error(`has the unknown parameter ${name}; allowed are ${parameters.join(', ')}`);
    if (url.searchParams.getAll(name).length > 1) throw new Error(`has the parameter ${name} twice`);
  }
  const endpoint = url.searchParams.get('endpoint') ?? defaults.endpoint;
  if (endpoint !== undefined && !isWebAddress(endpoint))
    throw new Error('has an endpoint that is not an http or https URL');
  const pathStyle = url.searchParams.get('path-style') ?? (endpoint === undefined ? 'off' : 'on');
  if (pathStyle !== 'on' && pathStyle !== 'off') throw new Error('has a path-style that is neither on nor off');
  const folder = decoded(url.pathname).replace(/^\/+|(?<!\/)\/+$/g, '');
  return {
    bucket: url.hostname,
    prefix: folder === '' ? '' : `${folder}/`,
    region: url.searchParams.get('region') || defaults.region || 'us-east-1',
    endpoint,
    pathStyle: pathStyle === 'on',
  };
}

const isWebAddress = (text: string): boolean => /^https?:\/\/[^/]/.test(text) && URL.canParse(text);

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('has an invalid percent-encoding');
  }
}
