/** Of this program, as its console says it. */
export const version = '0.2.0';
