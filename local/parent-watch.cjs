// Loaded before a service's code: when the program that started it is gone, even killed, the service drains and
// ends, so that no port stays taken. A channel that nothing else uses must not keep a finished service alive.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
process.channel?.unref();
