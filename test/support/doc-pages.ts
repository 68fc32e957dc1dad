import { readdirSync, readFileSync } from 'node:fs';

const root = new URL('../../', import.meta.url);

/** A page of the documentation. */
export interface DocPage {
  /** Below the project's root, such as `docs/operating.md`. */
  readonly file: string;
  readonly text: string;
}

/** A fenced block of a page. */
export interface FencedBlock {
  /** Such as `sh`; empty without one. */
  readonly language: string;
  readonly text: string;
}

/** Returns README.md and every page of docs/. */
export function docPages(): readonly DocPage[] {
  const files = readdirSync(new URL('docs/', root)).filter((name) => name.endsWith('.md'));
  return ['README.md', ...files.map((name) => `docs/${name}`)].map((file) => ({
    file,
    text: readFileSync(new URL(file, root), 'utf8'),
  }));
}

/** Returns the fenced blocks of a page, in order. */
export function fencedBlocks(text: string): readonly FencedBlock[] {
  return [...text.matchAll(/^```(\w*)\n([^]*?)^```$/gm)].map(([, language = '', block = '']) => ({
    language,
    text: block,
  }));
}

/** Returns the commands of a page: the lines of its `sh` and `console` blocks, continued lines joined. */
export function commandsOf(text: string): readonly string[] {
  return fencedBlocks(text)
    .filter(({ language }) => language === 'sh' || language === 'console')
    .flatMap((block) => block.text.replaceAll('\\\n', ' ').split('\n'))
    .map((line) => line.replace(/^\$ /, '').trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
}
