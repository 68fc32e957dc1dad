/** A changelog with the section of a release. */
export interface CutChangelog {
  readonly text: string;
  /** The entries of the release, without its heading. */
  readonly section: string;
}

const UNRELEASED = '## [Unreleased]';

/** Moves what is unreleased into the section of a version; throws if there is nothing, or the version has a section. */
export function cutChangelog(text: string, version: string, date: string): CutChangelog {
  const start = text.indexOf(UNRELEASED);
  if (start === -1) throw new Error(`CHANGELOG.md has no section ${UNRELEASED}.`);
  if (text.includes(`## [${version}]`)) throw new Error(`CHANGELOG.md has a section for ${version} already.`);
  const from = start + UNRELEASED.length;
  const next = text.indexOf('\n## [', from);
  const section = text.slice(from, next === -1 ? text.length : next).trim();
  if (!/^- /m.test(section)) throw new Error('CHANGELOG.md has nothing that is unreleased.');
  const heading = `${UNRELEASED}\n\n## [${version}] - ${date}\n\n`;
  return {
    text: `${text.slice(0, start)}${heading}${section}\n${next === -1 ? '' : text.slice(next)}`,
    section,
  };
}

/** Returns the section of a version, without its heading, and its date; throws if there is none. */
export function sectionOf(
  text: string,
  version: string,
): { readonly date: string; readonly section: string } {
  const [heading = '', date = ''] =
    new RegExp(`^## \\[${version.replaceAll('.', String.raw`\.`)}\\] - (\\d{4}-\\d\\d-\\d\\d)$`, 'm').exec(
      text,
    ) ?? [];
  if (heading === '') throw new Error(`CHANGELOG.md has no section for ${version}.`);
  const [section = ''] = text.slice(text.indexOf(heading) + heading.length).split('\n## [');
  return { date, section: section.trim() };
}

/** Returns the message of the tag: git drops lines that begin with `#`, so headings become words with a colon. */
export function tagMessage(version: string, section: string): string {
  return `capture-gateway ${version}\n\n${section.replaceAll(/^#+ (.+)$/gm, '$1:')}\n`;
}
