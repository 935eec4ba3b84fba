import { exitCodes, Problem } from './problem';

/** What a request to AWS, or to a store that speaks its language, is signed with. */
interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Of credentials that pass. */
  readonly sessionToken: string | undefined;
}

/** The credentials of the environment. Throws `Problem`, in these words, if there are none. */
export function awsCredentials(env: NodeJS.ProcessEnv, otherwise: string): AwsCredentials {
  const {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_SESSION_TOKEN: sessionToken,
  } = env;
  if (!accessKeyId || !secretAccessKey) throw new Problem(otherwise, exitCodes.usage);
  return { accessKeyId, secretAccessKey, sessionToken };
}
