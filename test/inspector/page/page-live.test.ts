/** @module-tag chromium */
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import type { EntriesPage } from '../../../src/inspector/api.ts';
import { loadInspectorPage } from '../../../src/cli/serve/serving-files.ts';
import { browserOfFile } from '../../support/page-tests.ts';
import { inspected } from '../../support/inspected.ts';
import { sampleEntry } from '../../support/sample-entries.ts';

const browser = browserOfFile();

describe('at 1,000 exchanges a second', () => {
  test('draws a sample and says so, and every one of them once it is paused', async () => {
    const { operators, adminOrigin } = await inspected({}, '{"data":{}}', loadInspectorPage);
    const began = Date.now();
    let made = 0;
    const timer = setInterval(() => {
      for (; made < Date.now() - began; made += 1) {
        operators.observer.observe(sampleEntry(made, Date.now()));
      }
    }, 20);
    try {
      const { page, complaints } = await browser.open(`${adminOrigin}/?view=traffic`);
      const sample = page.getByTitle(
        'At this rate the page shows only a sample. Pause or filter to see every exchange.',
      );
      await sample.getByText(/^showing 1 of [23] refusals and failures, 1 of 1[0-9] others$/).waitFor();
      await expect.poll(() => page.locator('.entry').count()).toBeLessThan(60);
      await page.keyboard.press('p');
      await page.getByRole('button', { name: /Go live.*[1-9][0-9,]* new/ }).waitFor();
      await expect.poll(async () => isRun(await seqs(page))).toBe(true);
      await page.evaluate('document.getElementById("entries").scrollTo(0, 1e6)');
      await expect.poll(async () => (await seqs(page)).length).toBeGreaterThan(10);
      await expect
        .poll(async () => Number(await page.getByRole('grid').getAttribute('aria-rowcount')))
        .toBeGreaterThan(300);
      expect(isRun(await seqs(page))).toBe(true);
      await sample.waitFor({ state: 'detached' });
      await page.keyboard.press('p');
      await sample.getByText(/^showing 1 of/).waitFor();
      expect(complaints).toEqual([]);
    } finally {
      clearInterval(timer);
    }
  });
});

test('rows older than everything that is kept are refusals and failures only, and the list says so', async () => {
  const { operators, adminOrigin } = await inspected(
    { 'inspector-entries': '40' },
    '{"data":{}}',
    loadInspectorPage,
  );
  for (let made = 0; made < 400; made += 1) operators.observer.observe(sampleEntry(made, Date.now()));
  const { page } = await browser.open(`${adminOrigin}/?view=traffic`);
  await page.locator('.entry').first().waitFor();
  await page.keyboard.press('p');
  const older = page.getByTitle('The gateway keeps refusals and failures for longer than other exchanges.');
  await expect
    .poll(async () => {
      await page.evaluate('document.getElementById("entries").scrollTo(0, 1e6)');
      return older.allTextContents();
    })
    .toEqual([expect.stringMatching(/^the last [1-9]\d* rows: refusals and failures only$/)]);
  const { oldest, entries } = (await (await fetch(`${adminOrigin}/entries?limit=500`)).json()) as EntriesPage;
  const failures = entries.filter(({ seq }) => seq < oldest);
  await expect
    .poll(() => older.textContent())
    .toBe(`the last ${failures.length} rows: refusals and failures only`);
  expect(failures.filter(({ status }) => status < 400)).toEqual([]);
  await page.goto(`${adminOrigin}/?view=traffic&part=problems`);
  await page.getByText(new RegExp(`^in the last ${entries.length} kept exchanges;`)).waitFor();
});

async function seqs(page: Page): Promise<readonly number[]> {
  const ids: string[] = await page.evaluate('[...document.querySelectorAll(".entry")].map((row) => row.id)');
  return ids.map((id) => Number(id.slice('entry-'.length))).toSorted((one, other) => other - one);
}

/** True when no number is left out. */
function isRun(numbers: readonly number[]): boolean {
  return numbers.every((number, index) => index === 0 || numbers[index - 1] === number + 1);
}
