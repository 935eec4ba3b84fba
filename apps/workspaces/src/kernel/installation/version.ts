/** The version of this program, which the console shows. */
export const version = '0.2.0';
