import { awsCredentials } from '../aws-credentials';
import { Problem } from '../problem';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/**
 * The fields of a login at `aws`: a request that lets AWS STS identify the signer. It is signed with the credentials in
 * the environment and not sent from here. `header_value` binds it to one server; `region` selects the token service (by
 * default the global one). Other fields, such as `role`, are passed on. Throws `Problem` without credentials.
 */
export async function signedIdentity(
  { region, header_value: serverId, ...rest }: Record<string, unknown>,
  env: NodeJS.ProcessEnv,
): Promise<Record<string, unknown>> {
  const credentials = awsCredentials(
    env,
    'login --method aws signs with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: set them',
  );
  if (region !== undefined && !/^[a-z]{2}(-[a-z]+)+-\d$/.test(String(region))) {
    throw new Problem(`${String(region)} is not a region of AWS`);
  }
  const own = region === undefined ? 'https://sts.amazonaws.com' : `https://sts.${String(region)}.amazonaws.com`;
  const url = new URL(env.AWS_ENDPOINT_URL_STS || own);
  const body = 'Action=GetCallerIdentity&Version=2011-06-15';
  const { AwsV4Signer } = await import('aws4fetch');
  const signer = new AwsV4Signer({
    method: 'POST',
    url: url.href,
    body,
    ...credentials,
    service: 'sts',
    region: region === undefined ? 'us-east-1' : String(region),
    allHeaders: true,
    headers: {
      'Content-Type': 'application/x-www-form-urlencoded',
      ...(serverId === undefined ? {} : { 'X-Vault-AWS-IAM-Server-ID': String(serverId) }),
    },
  });
  const { headers } = await signer.sign();
  return {
    ...rest,
    iam_http_request_method: 'POST',
    iam_request_url: base64(url.href),
    iam_request_body: base64(body),
    iam_request_headers: base64(JSON.stringify({ ...Object.fromEntries(headers), host: url.host })),
  };
}
