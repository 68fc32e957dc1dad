import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { afterEach, beforeAll, onTestFinished } from 'vitest';
import { type Browser, startBrowser } from './browser.ts';
import { inspectGateway, type InspectedGateway } from './inspected-gateway.ts';

/** A browser for the tests of a file; none leaves it a page. */
export function browserOfFile(): Pick<Browser, 'open' | 'closePages'> {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await startBrowser();
    return () => browser?.close();
  });
  afterEach(() => browser?.closePages());
  const started = (): Browser => {
    if (browser === undefined) throw new Error('it starts before the first test');
    return browser;
  };
  return {
    open: (address, look) => started().open(address, look),
    closePages: () => started().closePages(),
  };
}

/** What axe finds wrong with a page, or with the parts that a selector names. */
export async function barriers(page: Page, selector?: string): Promise<readonly string[]> {
  // The page's policy admits no foreign script; the debugger bypasses it. A megabyte is read once a page.
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(axe.source);
  const violations = await page.evaluate<
    readonly {
      readonly id: string;
      readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
    }[]
  >(
    `axe.run(${selector === undefined ? 'document' : JSON.stringify(selector)}, { resultTypes: ['violations'] }).then(({ violations }) => violations)`,
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary}`),
  );
}

/** Starts `serve` on free ports, until the test ends. */
export async function gatewayOfTest(
  flags: Readonly<Record<string, string>> = {},
  environment: Readonly<Record<string, string>> = {},
): Promise<InspectedGateway> {
  const gateway = await inspectGateway(flags, environment);
  onTestFinished(() => gateway.stop());
  return gateway;
}
