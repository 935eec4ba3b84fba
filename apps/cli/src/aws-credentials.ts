import { exitCodes, Problem } from './problem';

/** Credentials for signing requests to AWS or an S3-compatible store. */
interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** For temporary credentials. */
  readonly sessionToken: string | undefined;
}

/** The credentials of the environment. Throws `Problem` with this text if there are none. */
export function awsCredentials(env: NodeJS.ProcessEnv, otherwise: string): AwsCredentials {
  const {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_SESSION_TOKEN: sessionToken,
  } = env;
  if (!accessKeyId || !secretAccessKey) throw new Problem(otherwise, exitCodes.usage);
  return { accessKeyId, secretAccessKey, sessionToken };
}
