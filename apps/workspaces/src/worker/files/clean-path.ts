/** The environment of everything before the last step into a job, which alone sees what users set. */
export const cleanPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
