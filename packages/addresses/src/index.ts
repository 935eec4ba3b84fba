export { closedToRuns } from './closed-to-runs';
export { wrongWithDatabaseUrl } from './database-url';
export { isS3Address, type S3Address, type S3Defaults, s3Address } from './s3-address';
