// Loaded before a service's code: when the parent program ends, even if it is killed, the service drains and ends, so
// that no port stays in use. The channel must not keep a finished service alive.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
process.channel?.unref();
