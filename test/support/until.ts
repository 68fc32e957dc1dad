/** Milliseconds after which something is taken to never happen: on a loaded machine a process starts in ten seconds. */
const NEVER_MS = 25_000;

/** Waits until a condition holds; fails after 25 seconds. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + NEVER_MS;
  do {
    if (await condition()) return;
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  } while (Date.now() < end);
  throw new Error('it never happened');
}
