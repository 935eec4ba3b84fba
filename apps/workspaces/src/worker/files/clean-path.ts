/** The PATH for everything before the last step into a job; only that step uses the variables that users set. */
export const cleanPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
