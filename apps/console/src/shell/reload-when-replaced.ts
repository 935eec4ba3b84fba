/** A page that was open longer than this may be of a version that the service no longer has. */
const longMs = 10_000;

/** After the service was upgraded, an open page asks for parts that are gone: it is loaded anew, once. */
export function reloadWhenReplaced(): void {
  addEventListener('vite:preloadError', (event) => {
    if (performance.now() < longMs) return;
    event.preventDefault();
    location.reload();
  });
}
