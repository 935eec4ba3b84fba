/** Shown in sys/health, sys/seal-status and the OpenAPI document. */
export const version = '0.1.0';
