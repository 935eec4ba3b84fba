/** The PATH of everything before the last step into a job; only that step sees what users set. */
export const cleanPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
