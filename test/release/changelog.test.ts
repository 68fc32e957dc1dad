import { expect, test } from 'vitest';
import { cutChangelog, tagMessage } from '../../config/release/changelog.ts';

const TEXT = '# Changelog\n\n## [Unreleased]\n\n### Added\n\n- One.\n\n## [0.1.0] - 2026-01-01\n\n- Old.\n';

test('the unreleased section becomes that of the version', () => {
  const { text, section } = cutChangelog(TEXT, '0.2.0', '2026-11-22');
  expect(section).toBe('### Added\n\n- One.');
  expect(text).toBe(
    '# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-11-22\n\n### Added\n\n- One.\n\n## [0.1.0] - 2026-01-01\n\n- Old.\n',
  );
  // Nothing is left for a second release.
  expect(() => cutChangelog(text, '0.3.0', '2026-11-23')).toThrow('nothing that is unreleased');
  expect(() => cutChangelog(text, '0.2.0', '2026-11-23')).toThrow('has a section for 0.2.0 already');
  expect(() => cutChangelog('# Changelog\n', '0.2.0', '2026-11-23')).toThrow('has no section');
});

test('headings become lines that git keeps in the message of a tag', () => {
  expect(tagMessage('0.2.0', '### Added\n\n- One.')).toBe('capture-gateway 0.2.0\n\nAdded:\n\n- One.\n');
});
