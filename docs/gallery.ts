import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { DEMO_REQUESTS } from '../src/cli/demo/demo.ts';
import { startReference } from '../src/node/reference.ts';
import type { RolloutRequest } from '../src/rollout/rollout-tally.ts';
import { type Browser, type Look, startBrowser } from '../test/support/browser.ts';
import { inspectGateway, type InspectedGateway } from '../test/support/inspected-gateway.ts';
import { asWebp } from './webp.ts';

/**
 * `npm run gallery -- <folder> [name] [--axe]`: takes pictures of the page in every state, or of those whose name contains `name`.
 * With `--axe` each state is examined for barriers, too: they are printed, and end it with 1.
 */
const [folder = 'gallery', wanted = ''] = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const isExamined = process.argv.includes('--axe');

const WIDE: Look = { width: 1280, height: 900 };
const HUGE: Look = { width: 2560, height: 1400 };
const PHONE: Look = { width: 360, height: 740 };
/** Twice as large, as WCAG 1.4.4 asks for: by the zoom of the browser, and by the size of text that its user chose. */
const ZOOMED: Look = { ...WIDE, zoom: 2 };
const LARGE_TEXT: Look = { ...WIDE, textSize: 32 };

interface Scene {
  readonly name: string;
  readonly address: string;
  readonly looks: readonly Look[];
  /** Brings the page into its state. */
  readonly play?: (page: Page) => Promise<void>;
}

const EXCHANGES = [
  'migrated',
  'observed',
  'shadowed',
  'canaried',
  'refused',
  'failed',
  'brownout',
  'invalid',
];

const SCENES: readonly Scene[] = [
  { name: 'overview', address: '', looks: [WIDE, HUGE, PHONE, ZOOMED, LARGE_TEXT] },
  { name: 'traffic', address: '?view=traffic', looks: [WIDE, HUGE, PHONE, ZOOMED, LARGE_TEXT] },
  ...EXCHANGES.map((id): Scene => ({
    name: id,
    address: `?entry=${id}`,
    looks: id === 'migrated' ? [WIDE, HUGE, PHONE, ZOOMED, LARGE_TEXT] : [WIDE],
  })),
  {
    name: 'headers',
    address: '?entry=migrated&show=v2-request',
    looks: [WIDE, PHONE],
    play: (page) => page.locator('.header-term', { hasText: 'x-api-version' }).hover(),
  },
  { name: 'problems', address: '?view=traffic&part=problems', looks: [WIDE, HUGE, PHONE] },
  { name: 'rules', address: '?view=rules', looks: [WIDE, HUGE, PHONE, LARGE_TEXT] },
  {
    name: 'trial',
    address: '?view=rules',
    looks: [WIDE, PHONE],
    play: async (page) => {
      const draft = page.getByLabel('Rule book', { exact: true });
      await draft.fill((await draft.inputValue()).replace('under: address', 'under: location'));
      await page.getByRole('button', { name: 'Try it' }).click();
      await page.locator('.difference summary').first().click();
      await page.locator('.trial-outcome').scrollIntoViewIfNeeded();
    },
  },
  { name: 'clients', address: '?view=clients', looks: [WIDE, HUGE, PHONE, ZOOMED, LARGE_TEXT] },
  { name: 'rollout', address: '?view=rollout', looks: [WIDE, HUGE, PHONE, LARGE_TEXT] },
  {
    name: 'confirmation',
    address: '?view=rollout',
    looks: [WIDE, PHONE],
    play: async (page) => {
      await page.getByLabel('Mode', { exact: true }).selectOption('canary');
      await page.getByLabel('Share of the clients, in percent').fill('50');
      await page.getByRole('button', { name: 'Check the change' }).click();
      await page.getByRole('dialog').waitFor();
    },
  },
  {
    name: 'help',
    address: '',
    looks: [WIDE, PHONE],
    play: async (page) => {
      await page.getByRole('button', { name: 'Help' }).click();
      await page.getByRole('dialog').waitFor();
    },
  },
];

const rules = mkdtempSync(join(tmpdir(), 'gallery-'));
const gateway = await startScenes();
const browser = await startBrowser();
try {
  mkdirSync(folder, { recursive: true });
  for (const scene of SCENES.filter(({ name }) => name.includes(wanted)))
    for (const look of scene.looks)
      for (const scheme of ['light', 'dark'] as const) await take(scene, { ...look, scheme }, browser);
} finally {
  await browser.close();
  await gateway.stop();
  rmSync(rules, { recursive: true });
}

async function take(
  { name, address, play }: Scene,
  look: Look & { readonly scheme: 'light' | 'dark' },
  by: Browser,
): Promise<void> {
  const { page } = await by.open(`${gateway.adminOrigin}/${address}`, look);
  await page.getByText(/^(?:Connected|Paused)$/).waitFor();
  await page.getByText('Loading ').waitFor({ state: 'detached' });
  if (address.includes('entry=')) await page.locator('.detail-body').waitFor();
  await play?.(page);
  // Charts and lines are drawn once their width is known; the status line for screen readers covers part of the page for a moment.
  await page.waitForTimeout(400);
  await page.evaluate(`document.querySelector('.said').style.display = 'none'`);
  const size = look.zoom !== undefined ? 'zoomed' : look.textSize !== undefined ? 'large-text' : look.width;
  const file = join(folder, `${name}-${look.scheme}-${size}.webp`);
  writeFileSync(file, await asWebp(by, await page.screenshot(), 0.6));
  const barriers = isExamined ? await barriersOf(page) : [];
  await page.close();
  process.stdout.write(`${file}, ${readFileSync(file).length} bytes\n`);
  for (const barrier of barriers) process.stderr.write(`${file}: ${barrier}\n`);
  if (barriers.length > 0) process.exitCode = 1;
}

async function barriersOf(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  const { violations }: { readonly violations: readonly { readonly id: string; readonly help: string }[] } =
    await page.evaluate('axe.run()');
  return violations.map(({ id, help }) => `${id}: ${help}`);
}

/** A gateway between V1 and V2 whose exchanges are in every state. */
async function startScenes(): Promise<InspectedGateway> {
  // One service in both versions: what V1 creates is there for V2.
  const service = await startReference({ dialects: ['v1', 'v2'] });
  const shipped = readFileSync(new URL('../config/rules.yaml', import.meta.url), 'utf8');
  const file = join(rules, 'rules.yaml');
  writeFileSync(
    file,
    `${shipped}\nsunset: 2027-06-30\nbrownouts: [{ id: november, share: 100, operations: [create_virtual_tour] }]\n`,
  );
  const started = await inspectGateway({
    upstream: service.origin,
    'v1-upstream': service.origin,
    'v2-openapi': `${service.origin}/api/v2/openapi.json`,
    'client-secret': 'the secret of the gallery',
    capture: 'bodies',
    rules: file,
  });
  const mode = async (request: RolloutRequest): Promise<void> => {
    const headers = { 'content-type': 'application/json' };
    await fetch(`${started.adminOrigin}/rollout`, { method: 'POST', headers, body: JSON.stringify(request) });
  };
  const bodyOf = (operation: string): string =>
    DEMO_REQUESTS.find((request) => request.operation === operation)?.body ?? '';
  const order = (id?: string, key = 'acme'): Promise<number> =>
    started.send('POST', '/api/v1/orders/post_productions', bodyOf('order_post_production'), key, id);
  /** Content is kept within a budget of time a second, which a process that has just started uses up. */
  const settle = (): Promise<void> =>
    new Promise((resolve) => {
      setTimeout(resolve, 1100);
    });
  const requests = DEMO_REQUESTS.filter(({ path }) => !path.includes('{'));
  await mode({ mode: 'observe' });
  for (const client of ['acme', 'globex', 'initech', 'umbrella'])
    for (const { method, path, body } of requests) await started.send(method, `/api/v1${path}`, body, client);
  await settle();
  await order('observed');
  await settle();
  const unknown = '{"data":{"name":"Harbour Realty","colour":"red"}}';
  await started.send('POST', '/api/v1/clients', unknown, 'initech', 'invalid');
  await mode({ mode: 'shadow' });
  await settle();
  await started.send('GET', '/api/v1/orders/post_productions', undefined, 'globex', 'shadowed');
  await mode({ mode: 'canary', share: 100, force: true });
  await settle();
  await order('canaried');
  await mode({ mode: 'canary', share: 40, operation: 'order_floor_plan', force: true });
  await mode({ mode: 'migrate', force: true });
  await started.send('POST', '/api/v1/orders/floor_plans', bodyOf('order_floor_plan'), 'globex');
  const twice = '{"data":{"property":{"display_name":"Loft","suburb":"Enmore","suburb":"Newtown"}}}';
  await settle();
  await started.send('POST', '/api/v1/orders/post_productions', twice, 'initech', 'refused');
  await started.send('POST', '/api/v1/virtual_tours', bodyOf('create_virtual_tour'), 'umbrella', 'brownout');
  await started.send('GET', '/api/v2/heartbeat', undefined, 'umbrella');
  await settle();
  await order('migrated');
  await settle();
  await service.close();
  await order('failed', 'globex');
  return started;
}
