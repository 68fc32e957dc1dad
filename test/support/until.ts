/** Waits until a condition holds; fails after five seconds. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let wait = 0; wait < 1000; wait += 1) {
    if (await condition()) return;
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
  throw new Error('it never happened');
}
