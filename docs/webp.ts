import type { Browser } from '../test/support/browser.ts';

/** Encodes a picture as WebP, which takes a fifth of the bytes of PNG; Chromium does it. */
export async function asWebp(browser: Browser, png: Uint8Array, quality: number): Promise<Uint8Array> {
  const { page } = await browser.open('about:blank');
  const source = `data:image/png;base64,${Buffer.from(png).toString('base64')}`;
  const url = await page.evaluate<string>(`(async () => {
    const image = new Image();
    image.src = '${source}';
    await image.decode();
    const canvas = document.createElement('canvas');
    canvas.width = image.naturalWidth;
    canvas.height = image.naturalHeight;
    canvas.getContext('2d').drawImage(image, 0, 0);
    return canvas.toDataURL('image/webp', ${quality});
  })()`);
  await page.close();
  return Buffer.from(url.slice(url.indexOf(',') + 1), 'base64');
}
