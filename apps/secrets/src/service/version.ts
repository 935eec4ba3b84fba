/** The version of this program, in the OpenAPI document and the release history. */
export const version = '0.2.0';

/** The version in sys/health and sys/seal-status: clients expect the API of this version. Decision 0010. */
export const interfaceVersion = `1.19.0+keystead.${version}`;
