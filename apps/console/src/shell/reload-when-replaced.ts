/** A page that was open longer than this may be from a version that the service no longer serves. */
const longMs = 10_000;

/** After an upgrade an open page requests chunks that no longer exist: reloads it, once. */
export function reloadWhenReplaced(): void {
  addEventListener('vite:preloadError', (event) => {
    if (performance.now() < longMs) return;
    event.preventDefault();
    location.reload();
  });
}
