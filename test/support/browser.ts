import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { CHROMIUM } from './tools.ts';
import { NEVER_MS } from './until.ts';

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** The options of a page. */
export interface Look {
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: 'light' | 'dark';
  /** Zoom of the browser, 1 by default: everything is larger, in a window of the same size. */
  readonly zoom?: number;
  /** Size of text that the user chose in the browser, in pixels, 16 by default: only text is larger. */
  readonly textSize?: number;
}

/** A browser with its own profile. */
export interface Browser {
  /** Opens an address; complaints of the browser are added to `complaints`. */
  open(address: string, look?: Look): Promise<OpenPage>;
  /** Closes every page: each keeps a stream, and the browser opens six connections to a host. */
  closePages(): Promise<void>;
  close(): Promise<void>;
}

/** A page, with its errors and its requests to other origins. */
export interface OpenPage {
  readonly page: Page;
  readonly complaints: readonly string[];
  readonly foreign: readonly string[];
}

/** Starts headless Chromium. Its temporary files have their own folder: it leaves some behind where it is ended by a signal. */
export async function startBrowser(): Promise<Browser> {
  const folder = mkdtempSync(join(tmpdir(), 'chromium-'));
  const context: BrowserContext = await chromium.launchPersistentContext(join(folder, 'profile'), {
    executablePath: CHROMIUM,
    args: FLAGS,
    env: { ...process.env, TMPDIR: folder },
    permissions: ['clipboard-read', 'clipboard-write'],
    reducedMotion: 'reduce',
  });
  context.setDefaultTimeout(NEVER_MS);
  return {
    open: async (address, { width = 1440, height = 900, scheme = 'light', zoom = 1, textSize } = {}) => {
      const page = await context.newPage();
      const complaints: string[] = [];
      const foreign: string[] = [];
      page.on('console', (message) => {
        if (message.type() === 'error') complaints.push(message.text());
      });
      page.on('pageerror', (error) => complaints.push(error.message));
      page.on('request', (request) => {
        if (new URL(request.url()).origin !== new URL(address).origin) foreign.push(request.url());
      });
      await page.setViewportSize({ width: Math.round(width / zoom), height: Math.round(height / zoom) });
      const debuggerOf = zoom === 1 && textSize === undefined ? undefined : await context.newCDPSession(page);
      if (zoom !== 1)
        await debuggerOf?.send('Emulation.setDeviceMetricsOverride', {
          width: Math.round(width / zoom),
          height: Math.round(height / zoom),
          deviceScaleFactor: zoom,
          mobile: false,
        });
      if (textSize !== undefined)
        await debuggerOf?.send('Page.setFontSizes', { fontSizes: { standard: textSize, fixed: textSize } });
      await page.emulateMedia({ colorScheme: scheme });
      await page.goto(address);
      return { page, complaints, foreign };
    },
    closePages: async () => {
      await Promise.all(
        context
          .pages()
          .slice(1)
          .map((page) => page.close()),
      );
    },
    close: async () => {
      await context.close();
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    },
  };
}
