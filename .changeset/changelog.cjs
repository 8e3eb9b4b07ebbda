// How a release is written into CHANGELOG.md: the text of each changeset as it is, one after another.
// The generator that comes with changesets makes list items of them and puts a commit before each.

module.exports = {
  getReleaseLine: async ({ summary }) => `${summary.trim()}\n`,
  getDependencyReleaseLine: async () => '',
};
