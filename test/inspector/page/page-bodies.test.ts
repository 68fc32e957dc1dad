/** @module-tag chromium */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Browser, startBrowser } from '../../support/browser.ts';
import { until } from '../../support/until.ts';
import { watchedServices } from '../../support/watched-services.ts';

let browser: Browser;

beforeAll(async () => {
  browser = await startBrowser();
});

afterAll(() => browser.close());

async function opened(body: string): Promise<Awaited<ReturnType<Browser['open']>>> {
  const { gateway } = await watchedServices(
    {},
    {},
    { flags: { capture: 'bodies', 'capture-memory': '512MiB' } },
  );
  await fetch(`${gateway.origin}/api/v1/orders/floor_plans`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  const open = await browser.open(`${gateway.adminOrigin}/?view=traffic`);
  await open.page.locator('.entry').first().waitFor();
  return open;
}

test('a body of 1 MB opens folded, with its edits in sight on both sides', async () => {
  const photos = Array.from({ length: 9000 }, (_, at) => ({
    id: at,
    url: `https://photos.test/${'x'.repeat(80)}`,
  }));
  const body = JSON.stringify({
    data: { photos, property: { suburb: 'Enmore', postcode: '2042' }, note: 'z' },
  });
  expect(body.length).toBeGreaterThan(1_000_000);
  const { page, complaints } = await opened(body);
  await page.evaluate('document.querySelector(".entry").click()');
  // A stub for each bracket of the wrapper, a line for each of the two members.
  await until(() => page.evaluate<boolean>('document.querySelectorAll(".joins .join").length === 4'));
  for (const [side, pointer] of [
    ['V1 body', '"suburb": "Enmore"'],
    ['V2 body', '"address": {'],
  ] as const) {
    const text = await page.getByRole('group', { name: side }).innerText();
    expect(text).toContain(pointer);
    expect(text).toMatch(/"photos": \[ … 1\d{6} bytes … \]/);
  }
  expect(complaints).toEqual([]);
  await browser.closePages();
});

// Attack: characters that reverse the text after them show an operator something else than what was sent.
test('characters that cannot be seen are shown by their code points', async () => {
  const { page } = await opened(
    '{"data":{"property":{"suburb":"\u202Eevil\u2066\u200B\u0085"},"\u202Ekey":1}}',
  );
  await page.locator('.entry').first().click();
  await page.getByRole('group', { name: 'V2 body' }).waitFor();
  const shown = await page.getByRole('group', { name: 'V2 body' }).innerText();
  expect(shown).toContain('"U+202EevilU+2066U+200BU+0085"');
  expect(shown).toContain('"U+202Ekey"');
  expect(await page.evaluate<string>('document.body.innerText')).not.toMatch(/[\u202E\u2066\u200B\u0085]/);
  await browser.closePages();
});
