/** @module-tag chromium */
import axe from 'axe-core';
import { appendFile, copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { VIEWS } from '../../../src/inspector/page/page-state.ts';
import { startBrowser } from '../../support/browser.ts';
import { freePort } from '../../support/free-port.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { inspectGateway } from '../../support/inspected-gateway.ts';

test('a V2 that is down stands in the header of every view, in a banner, and opened with all else', async () => {
  const rules = join(temporaryFolder('conditions'), 'rules.yaml');
  await copyFile('config/rules.yaml', rules);
  const [gateway, browser] = await Promise.all([
    inspectGateway({
      rules,
      upstream: `http://127.0.0.1:${await freePort()}`,
      'upstream-connect-timeout': '200',
    }),
    startBrowser(),
  ]);
  onTestFinished(async () => {
    await Promise.all([gateway.stop(), browser.close()]);
  });
  for (let sent = 0; sent < 12; sent += 1)
    expect(await gateway.send('POST', '/api/v1/clients', '{"data":{}}')).toBeGreaterThan(500);
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=traffic`);
  const summary = page.locator('.conditions summary');
  const banner = page.getByRole('alert').filter({ hasText: 'V2' });
  for (const view of VIEWS) {
    await page.goto(`${gateway.adminOrigin}/?view=${view}`);
    await expect.poll(() => summary.textContent()).toMatch(/^V2: circuit (?:open|probing)$/);
    expect(await banner.textContent()).toContain('V2 keeps failing');
    expect(await page.getByText('Live', { exact: true }).count()).toBe(0);
    // No view says in green, or at all, that V2 responds.
    expect(await page.locator('.response.yes').count()).toBe(0);
    expect(await page.locator('body').innerText()).not.toMatch(/\bV2 responds/);
  }
  await summary.click();
  expect(await page.locator('.conditions li').allTextContents()).toContainEqual(
    expect.stringMatching(/^Good: Rule book in force/),
  );
  await page.evaluate(axe.source);
  const { violations } = (await page.evaluate('axe.run("header, [role=alert]")')) as {
    readonly violations: readonly { readonly id: string }[];
  };
  expect(violations.map(({ id }) => id)).toEqual([]);
  // A second banner stands above the view as well.
  await appendFile(rules, '\nnonsense: 1\n');
  const refused = page.getByRole('alert').filter({ hasText: 'The new rule book was refused' });
  await refused.waitFor();
  const [first, second, main] = await Promise.all(
    [banner, refused, page.locator('main')].map((one) => one.boundingBox()),
  );
  expect(second?.y).toBe((first?.y ?? 0) + (first?.height ?? 0));
  expect(main?.y).toBe((second?.y ?? 0) + (second?.height ?? 0));
  await page.getByRole('alert').getByRole('button', { name: 'Show the exchanges' }).click();
  await expect.poll(() => page.locator('.entry').count()).toBe(12);
  expect(complaints).toEqual([]);
});
