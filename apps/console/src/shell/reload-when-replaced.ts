/** A page that was open longer than this may be of a version that the service no longer has. */
const longMs = 10_000;

/** After an upgrade an open page asks for chunks that are gone: it is reloaded, once. */
export function reloadWhenReplaced(): void {
  addEventListener('vite:preloadError', (event) => {
    if (performance.now() < longMs) return;
    event.preventDefault();
    location.reload();
  });
}
